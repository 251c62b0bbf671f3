from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("api", "0005_tables_by_day")]

    operations = [
        migrations.AddField("apikey", "last_used_address", models.GenericIPAddressField(blank=True, null=True)),
    ]
