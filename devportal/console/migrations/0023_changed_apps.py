from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0022_domains_of_approvals")]

    operations = [
        migrations.AlterField(
            model_name="reviewcase",
            name="kind",
            field=models.CharField(
                choices=[
                    ("report", "Reported by people"),
                    ("re_review", "Review is due again"),
                    ("appeal", "Appeal"),
                    ("domain_lost", "Domain lost"),
                    ("second_approval", "Needs a second approval"),
                    ("changed", "Changed after approval"),
                ],
                max_length=20,
            ),
        ),
    ]
