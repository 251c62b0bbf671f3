import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0019_consent_outside_of_review")]

    operations = [
        migrations.CreateModel(
            name="AppSlug",
            fields=[
                ("slug", models.SlugField(max_length=60, primary_key=True, serialize=False)),
                ("reading", models.CharField(max_length=200, unique=True)),
                (
                    "client",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="app_slugs",
                        to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
                    ),
                ),
            ],
        ),
    ]
