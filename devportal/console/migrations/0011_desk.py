import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0010_review_steps"),
        ("oidc", "0017_project_domains"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        migrations.swappable_dependency(settings.OAUTH2_PROVIDER_APPLICATION_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CannedReply",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("title", models.CharField(max_length=80, unique=True)),
                ("text", models.TextField()),
            ],
            options={
                "verbose_name_plural": "canned replies",
                "ordering": ("title",),
            },
        ),
        migrations.CreateModel(
            name="ReviewerSettings",
            fields=[
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("mails_new", models.BooleanField(default=True, verbose_name="a mail for each new submission")),
                (
                    "mails_late",
                    models.BooleanField(default=True, verbose_name="a mail for each submission that waits too long"),
                ),
            ],
            options={
                "verbose_name_plural": "reviewer settings",
            },
        ),
        migrations.CreateModel(
            name="ReviewCase",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("report", "Reported by people"),
                            ("re_review", "Review is due again"),
                            ("appeal", "Appeal"),
                            ("domain_lost", "Domain lost"),
                        ],
                        max_length=20,
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("opened_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[("in_order", "Everything is in order"), ("acted", "Something was done")],
                        max_length=20,
                    ),
                ),
                ("outcome_text", models.TextField(blank=True)),
                (
                    "assignee",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "client",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="review_cases",
                        to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
                    ),
                ),
                (
                    "closed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "opened_by",
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
                        on_delete=django.db.models.deletion.CASCADE, related_name="review_cases", to="oidc.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DeskNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("text", models.TextField()),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notes",
                        to="console.appreview",
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notes",
                        to="console.reviewcase",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AppReport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("pretends", "It pretends to be another app or company"),
                            ("misuses_data", "It misuses what it reads from my account"),
                            ("deceives", "It asks for passwords or money under false pretences"),
                            ("harmful", "Its content is harmful or against the law"),
                            ("other", "Something else"),
                        ],
                        max_length=20,
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
                (
                    "reporter",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reports", to="console.reviewcase"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ReviewRevision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("snapshot", models.JSONField()),
                ("answers", models.JSONField(default=dict)),
                ("page_checks", models.JSONField(null=True)),
                ("sent_at", models.DateTimeField()),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="revisions", to="console.appreview"
                    ),
                ),
                (
                    "sent_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="reviewcase",
            index=models.Index(fields=["closed_at", "opened_at"], name="cases_by_age"),
        ),
        migrations.AddConstraint(
            model_name="reviewcase",
            constraint=models.UniqueConstraint(
                condition=models.Q(("client__isnull", False), ("closed_at", None)),
                fields=("client", "kind"),
                name="one_open_case_per_app_and_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewcase",
            constraint=models.UniqueConstraint(
                condition=models.Q(("client", None), ("closed_at", None)),
                fields=("project", "kind"),
                name="one_open_case_per_project_and_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewrevision",
            constraint=models.UniqueConstraint(fields=("review", "number"), name="one_row_per_review_and_revision"),
        ),
    ]
