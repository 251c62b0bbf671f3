from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0013_left_out_scopes")]

    operations = [
        migrations.AddField(
            "client",
            "least_acr",
            models.CharField(
                blank=True,
                choices=[
                    ("", "Nothing more"),
                    ("http://schemas.openid.net/pape/policies/2007/06/multi-factor", "Two factors"),
                    ("phr", "A passkey"),
                ],
                db_default="",
                default="",
                max_length=100,
            ),
        ),
    ]
