"""The whole sign-in service against a model of it: random people, apps and operators.

After every step the question is whether exactly those codes and tokens work that should.
"""

import logging
import sys
import time
from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest
from django.conf import settings as service_settings
from hypothesis import HealthCheck, event, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, run_state_machine_as_test

from core import clock as service_clock
from oidc.models import Project, RefreshToken
from oidc.projects.people import people_counted
from tests.machine.app_rules import AppRules
from tests.machine.journeys import Journeys, begin
from tests.machine.operator_rules import OperatorRules
from tests.machine.people_rules import PeopleRules
from tests.machine.things import CAP
from tests.machine.world import Clock, World
from tests.services.plugin import on_postgres

DAY = 24 * 3600


class SignInMachine(AppRules, PeopleRules, OperatorRules, RuleBasedStateMachine):
    """Rules that people, apps, operators and time follow in any order."""

    def __init__(self, world: World) -> None:
        RuleBasedStateMachine.__init__(self)
        Journeys.__init__(self, world)
        self.example = ExitStack()
        self.example.enter_context(world.example())

    def note(self, what: str) -> None:
        event(what)

    @invariant()
    def what_was_touched_is_as_it_should_be(self) -> None:
        """Look at the families that this step was about, and at one other in turn."""
        families = list(dict.fromkeys(self.touched))
        self.touched = []
        if self.model.families:
            families.append(self.model.families[int(self.world.now * 1000) % len(self.model.families)])
        for family in families:
            self.look_at(family, newest=1)

    @invariant()
    def one_live_refresh_token_a_family(self) -> None:
        live = RefreshToken.objects.filter(revoked=None, family__revoked_at=None, expires__gt=service_clock.now())
        assert all(count == 1 for count in Counter(live.values_list("family", flat=True)).values())

    @invariant()
    def no_project_has_too_many_people(self) -> None:
        for project in {app.project for app in self.state.apps if app.capped}:
            people = len(self.model.people_of(project))
            assert people <= CAP
            assert people_counted(Project(pk=project.pk)) == people

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.look_at_everything()
                self.count_what_was_reached()
        finally:
            self.example.close()

    def count_what_was_reached(self) -> None:
        live = [token for token in self.model.access if token.is_live(self.world.now)]
        self.note(f"families: {min(len(self.model.families), 9)}")
        self.note(f"live access tokens at the end: {min(len(live), 9)}")
        self.note(f"longest chain of refreshes: {self.longest_chain()}")

    def longest_chain(self) -> int:
        return max(Counter(id(token.family) for token in self.model.refresh).values(), default=0)


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch, settings: Any) -> World:
    settings.UNVERIFIED_APP_PEOPLE = CAP
    settings.SIGNING_KEY_REFRESH_SECONDS = DAY  # no separate thread: it would not see this transaction
    # What is tested here is not how often one may try.
    settings.RATELIMIT_ENABLE = False
    for name in [name for name in dir(service_settings) if name.endswith("_PER_MINUTE")]:
        setattr(settings, name, 10**6)
    monkeypatch.setattr(logging.root.manager, "disable", logging.WARNING)  # refusals by the thousand
    clock = Clock()
    monkeypatch.setattr(service_clock, "now", clock.now)
    monkeypatch.setattr(time, "time", clock.time)  # what allauth and Django's signatures go by
    world = World(clock)
    begin(world)
    return world


def run(world: World, examples: int, steps: int, **options: Any) -> None:
    profile = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        **options,
    )
    run_state_machine_as_test(lambda: SignInMachine(world), settings=profile)  # type: ignore[arg-type]  # a factory does


@pytest.mark.skipif(on_postgres(), reason="on PostgreSQL, the next test takes random sequences")
def test_only_valid_credentials_work(world: World) -> None:
    run(world, examples=25, steps=30, derandomize=True)


@pytest.mark.slow
@pytest.mark.parametrize("part", [1, 2])  # which two processes take at once
def test_only_valid_credentials_work_at_length(world: World, part: int) -> None:
    run(world, examples=5, steps=60, print_blob=True)
