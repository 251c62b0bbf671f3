"""When reviewers were mailed about a case; a further kind of case, which changes no column."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0018_second_approvals")]

    operations = [
        migrations.AddField("reviewcase", "announced_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("reviewcase", "late_told_at", models.DateTimeField(blank=True, null=True)),
        migrations.AlterField(
            "reviewcase",
            "kind",
            models.CharField(
                choices=[
                    ("report", "Reported by people"),
                    ("re_review", "Review is due again"),
                    ("appeal", "Appeal"),
                    ("domain_lost", "Domain lost"),
                    ("second_approval", "Needs a second approval"),
                ],
                max_length=20,
            ),
        ),
    ]
