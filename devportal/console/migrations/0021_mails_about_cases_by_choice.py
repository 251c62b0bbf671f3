"""Whether a reviewer wants mails about cases. With a default: processes of the version before insert rows without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0020_approvals_by_two")]

    operations = [
        migrations.AddField(
            "reviewersettings",
            "mails_cases",
            models.BooleanField(db_default=True, default=True, verbose_name="mails about cases"),
        ),
    ]
