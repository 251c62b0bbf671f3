"""Which reads may go to a replica: logs and usage, on their pages; nothing that decides anything."""

from django.apps import apps
from django.urls import resolve

from core.database.postgres import replica
from tests.urls import every_url

ROUTER = replica.ReplicaRouter()
LOGS = ("requestlog", "signinevent", "auditevent", "usagebucket", "usagehour", "usageday", "usagetotal", "delivery")


def test_logs_and_usage_are_all_that_is_read_there() -> None:
    with replica.reading():
        routed = {model._meta.model_name for model in apps.get_models() if ROUTER.db_for_read(model) == "replica"}
    assert routed == set(LOGS)


def test_outside_of_their_pages_they_are_read_from_the_primary() -> None:
    assert {ROUTER.db_for_read(model) for model in apps.get_models()} == {"default"}
    with replica.reading():
        assert {ROUTER.db_for_write(model) for model in apps.get_models()} == {"default"}
    assert not ROUTER.allow_migrate("replica", "api")
    assert ROUTER.allow_migrate("default", "api")


def test_pages_of_logs_and_usage_are_all_that_may_read_there() -> None:
    names = {url.name for url in every_url() if replica.page_from_replica.is_on(resolve(url.example).func)}
    assert names == {
        "admin:api_requestlog_changelist",
        "admin:console_auditevent_changelist",
        "admin:console_signinevent_changelist",
        "console:activity",
        "console:deliveries",
        "console:delivery",
        "console:project_deliveries",
        "console:request_detail",
        "console:project_sign_ins",
        "console:requests",
        "console:sign_in_detail",
        "console:sign_ins",
        "console:usage",
    }
