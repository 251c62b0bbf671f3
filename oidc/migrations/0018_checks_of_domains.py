"""When a domain is looked at next, and when its proof was last seen."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0017_project_domains")]

    operations = [
        migrations.AddField(
            model_name="projectdomain",
            name="check_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="projectdomain",
            name="found_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RemoveIndex(model_name="projectdomain", name="domains_by_last_check"),
        migrations.AddIndex(
            model_name="projectdomain",
            index=models.Index(fields=["check_at"], name="domains_by_next_check"),
        ),
        migrations.AddIndex(
            model_name="projectdomain",
            index=models.Index(fields=["name"], name="domains_by_name"),
        ),
    ]
