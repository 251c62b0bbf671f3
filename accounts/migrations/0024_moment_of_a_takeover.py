from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0023_factors_before_a_change")]

    operations = [migrations.AddField("accountrecovery", "taken_over_at", models.DateTimeField(null=True))]
