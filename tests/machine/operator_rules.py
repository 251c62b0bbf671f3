"""The actions of operators, and the passing of time."""

import io

from django.core.management import call_command
from hypothesis import strategies as st
from hypothesis.stateful import rule

from core import clock
from oidc import tasks
from oidc.models import Client, Project
from oidc.tokens import signing_keys
from tests.machine.draws import apps
from tests.machine.journeys import Journeys
from tests.machine.things import App

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600


class OperatorRules(Journeys):
    """Rules that operators follow, and time."""

    @rule(app=apps, stays=st.booleans())
    def turn_off_or_on(self, app: int, stays: bool) -> None:
        """Turn a client off or on; without `stays`, change it back immediately."""
        chosen = self.state.apps[app]
        for _ in range(1 if stays else 2):
            chosen.enabled = not chosen.enabled
            Client.objects.filter(pk=chosen.pk).update(enabled=chosen.enabled)
            self.look_at_families_of(chosen)

    @rule(app=apps, stays=st.booleans())
    def suspend_or_not(self, app: int, stays: bool) -> None:
        """Suspend a project or lift its suspension; without `stays`, change it back immediately."""
        chosen = self.state.apps[app].project
        for _ in range(1 if stays else 2):
            chosen.suspended = not chosen.suspended
            moment = clock.now() if chosen.suspended else None
            Project.objects.filter(pk=chosen.pk).update(suspended_at=moment)
            for each in self.state.apps:
                if each.project is chosen:
                    self.look_at_families_of(each)

    @rule(app=apps, stays=st.booleans())
    def review(self, app: int, stays: bool) -> None:
        """Approve `account.read` or withdraw its approval; without `stays`, change it back immediately."""
        chosen = self.state.apps[app]
        for _ in range(1 if stays else 2):
            chosen.reviewed = not chosen.reviewed
            approved = "account.read" if chosen.reviewed else ""
            Client.objects.filter(pk=chosen.pk).update(approved_scopes=approved)
            self.look_at_families_of(chosen)

    @rule(now=st.booleans())
    def rotate_keys(self, now: bool) -> None:
        """Publish a signing key or let it sign, if that is due or, with `now`, in any case."""
        with self.world.committing():
            call_command("rotate_keys", now=now, verbosity=0, stdout=io.StringIO())

    @rule(
        seconds=st.sampled_from(
            [1, 1, 9, 11, 11, 55, 65, 5 * MINUTE, 14 * MINUTE, 20 * MINUTE, 2 * HOUR, 2 * DAY, 8 * DAY, 25 * DAY]
        )
    )
    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.world.clock.go(seconds)
        signing_keys.reload_keyring()

    @rule()
    def clear_expired(self) -> None:
        """Run the periodic clean-up."""
        tasks.clear_expired()
        self.model.clear_expired(self.world.now)

    @rule()
    def look_at_everything(self) -> None:
        """Check every code and token that was ever issued."""
        for family in self.model.families:
            self.look_at(family)
        self.look_at_keys()

    def look_at_families_of(self, app: App) -> None:
        for family in [family for family in self.model.families if family.app is app][-3:]:
            self.look_at(family, newest=1)
