import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import oidc.models.domains


class Migration(migrations.Migration):
    dependencies = [
        ("oidc", "0016_reviewed_hosts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AppPage",
            fields=[
                (
                    "client",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="app_page",
                        serialize=False,
                        to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
                    ),
                ),
                ("slug", models.SlugField(max_length=60, unique=True)),
                ("published_at", models.DateTimeField()),
                (
                    "published_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ProjectDomain",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=253)),
                ("token", models.CharField(default=oidc.models.domains.new_proof_token, editable=False, max_length=64)),
                ("added_at", models.DateTimeField()),
                (
                    "method",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("dns", "DNS record"),
                            ("file", "File on the web server"),
                            ("operator", "The operator's word"),
                        ],
                        max_length=10,
                    ),
                ),
                ("proven_at", models.DateTimeField(blank=True, null=True)),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                ("missing_since", models.DateTimeField(blank=True, null=True)),
                ("lost_at", models.DateTimeField(blank=True, null=True)),
                ("problem", models.TextField(blank=True)),
                (
                    "added_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="domains", to="oidc.project"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["checked_at"], name="domains_by_last_check")],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "name"), name="one_row_per_project_and_domain")
                ],
            },
        ),
    ]
