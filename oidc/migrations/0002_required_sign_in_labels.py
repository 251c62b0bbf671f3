"""Labels of the required sign-in. Only Django reads them, so the migration changes no table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("oidc", "0001_baseline"),
    ]

    operations = [
        migrations.AlterField(
            model_name="client",
            name="least_acr",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "Password only"),
                    ("http://schemas.openid.net/pape/policies/2007/06/multi-factor", "Two factors"),
                    ("phr", "Passkey"),
                ],
                default="",
                max_length=100,
            ),
        ),
    ]
