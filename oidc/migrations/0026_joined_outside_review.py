from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0025_taken_places")]

    operations = [
        migrations.AddField(
            "connection",
            "joined_outside_review",
            models.BooleanField(db_default=False, default=False, editable=False),
        )
    ]
