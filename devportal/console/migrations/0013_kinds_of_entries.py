"""Entries for appeals, the first of two keys, and approvals that were renewed: the choices alone, no column changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0012_hosts_of_reviewed_apps")]

    operations = [
        migrations.AlterField(
            model_name="reviewentry",
            name="kind",
            field=models.CharField(
                choices=[
                    ("submitted", "Submitted"),
                    ("resubmitted", "Resubmitted"),
                    ("withdrawn", "Withdrawn"),
                    ("assigned", "Assigned"),
                    ("started", "Review started"),
                    ("comment", "Comment"),
                    ("changes_requested", "Changes requested"),
                    ("approved", "Approved"),
                    ("rejected", "Rejected"),
                    ("appealed", "Appealed"),
                    ("first_key", "First of two approvals"),
                    ("renewed", "Looked at again"),
                    ("approval_withdrawn", "Approval withdrawn"),
                    ("suspended", "Project suspended"),
                    ("suspension_lifted", "Suspension lifted"),
                ],
                max_length=20,
            ),
        ),
    ]
