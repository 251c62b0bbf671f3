"""What a superseded refresh token was answered: nullable columns, as in the migration before.

It is a migration of its own, because a transaction that locks two tables may meet one that wants them in another order.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0009_lost_answers")]

    operations = [
        migrations.AddField(
            "refreshtoken", "next_access_checksum", models.CharField(editable=False, max_length=64, null=True)
        ),
        migrations.AddField(
            "refreshtoken", "next_checksum", models.CharField(editable=False, max_length=64, null=True)
        ),
    ]
