from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    name = "devportal.console"
    label = "console"
    verbose_name = "Developer console"

    def ready(self) -> None:
        # What connects receivers, or registers, is nowhere else sure to be imported.
        for receivers in (
            "audit",
            "analytics.store",
            "domains.notices",
            "domains.mail_samples",
            "reviews.change_cases",
            "reviews.domain_cases",
            "reviews.logos",
            "reviews.timeline",
            "app_pages.reports",
            "reviews.mail_samples",
            "reviews.case_mail_samples",
            "reviews.second_approval",
            "reviews.test_accounts",
            "operations.celery_signals",
            "stopped_sign_ins",
        ):
            import_module(f"devportal.console.{receivers}")
        task_runs = import_module("devportal.console.operations.task_runs")
        post_migrate.connect(task_runs.watch_tasks, sender=self)
