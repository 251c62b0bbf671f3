"""Which reads may go to a replica: logs and usage, on their pages; nothing that decides anything."""

from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.urls import get_resolver

from devportal.lib.postgres import replica

ROUTER = replica.ReplicaRouter()
LOGS = ("requestlog", "signinevent", "auditevent", "usagebucket", "usagehour", "usageday", "usagetotal")


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


@pytest.mark.parametrize("name", sorted(settings.REPLICA_PAGES))
def test_the_pages_exist(name: str) -> None:
    space, _, page = name.partition(":")
    resolver: Any = get_resolver().namespace_dict[space][1]
    assert page in resolver.reverse_dict


def test_the_models_exist() -> None:
    assert {apps.get_model(label)._meta.label_lower for label in settings.REPLICA_MODELS} == settings.REPLICA_MODELS
