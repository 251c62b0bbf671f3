"""Which tests only `make test-all` runs, and how tests that need services are distributed to processes.

`make test` takes at most two minutes on two cores. It leaves out THOROUGH, the files and tests that take longest. Of
each other test it runs the first case. With ARGS, it leaves out nothing.

`--dist loadscope` distributes tests that need services to xdist's processes. All tests of a file that share a server
run in one process; all other tests go one by one to the next free process. The longest tests begin first, so that none
of them runs at the end while the other processes are idle. xdist itself would begin with the files that have the most
tests, but the longest files have one or two.

With `--apart`, only the files that have such tests are imported, and with `--everyday` only the files that THOROUGH
does not name: importing all of them takes longer than some of these runs.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

# Markers of tests that `make test` leaves out, and a pattern that finds them in a file.
APART = {"redis", "node", "browser", "image", "proxy", "quiet", "slow"}
SPELLED = re.compile(rf"\bmark\.(?:{'|'.join(sorted(APART))})\b")
THOROUGH = (
    "tests/accounts/activity/test_notices.py",
    "tests/accounts/activity/test_pages.py",
    "tests/accounts/data_export/test_everything_is_exported.py",
    "tests/accounts/data_export/test_export.py",
    "tests/accounts/data_export/test_former_addresses.py",
    "tests/accounts/mail/test_outbox.py::test_pauses_grow_up_to_an_hour_and_a_day_of_outage_is_survived",
    "tests/accounts/mail/test_preview.py",
    "tests/accounts/mail/test_samples.py",
    "tests/accounts/plans/",
    "tests/accounts/test_object_store.py",
    "tests/accounts/test_page_budgets.py",
    "tests/accounts/test_pictures.py",
    "tests/api/test_canary.py",
    "tests/api/test_fuzz.py",
    "tests/api/test_leaked_credentials.py",
    "tests/api/test_policies.py::test_a_call_leaves_no_view_and_no_request_to_the_garbage_collector",
    "tests/api/test_profile_source.py",
    "tests/api/test_schema.py",
    "tests/api/usage/",
    "tests/core/storage/",
    "tests/core/telemetry/",
    "tests/core/test_encrypted_columns.py",
    "tests/core/test_names.py",
    "tests/core/test_redis_address.py",
    "tests/core/test_smtp.py",
    "tests/core/test_worker_start.py",
    "tests/core/test_wrong_method.py",
    "tests/devportal/admin/",
    "tests/devportal/console/activity/",
    "tests/devportal/console/analytics/",
    "tests/devportal/console/clients/test_clients.py",
    "tests/devportal/console/clients/test_scopes.py",
    "tests/devportal/console/clients/test_reviewed_hosts.py",
    "tests/devportal/console/domains/",
    "tests/devportal/console/events/",
    "tests/devportal/console/logs/",
    "tests/devportal/console/members/",
    "tests/devportal/console/notices/",
    "tests/devportal/console/people/",
    "tests/devportal/console/playground/",
    "tests/devportal/console/projects/",
    "tests/devportal/console/quick_start/",
    "tests/devportal/console/test_console_access.py",
    "tests/devportal/console/test_loaded_stylesheets.py",
    "tests/devportal/console/test_rotation.py",
    "tests/devportal/console/usage/",
    "tests/devportal/docs/",
    "tests/devportal/operations/",
    "tests/devportal/review/app_pages/",
    "tests/devportal/review/cases/test_cases.py",
    "tests/devportal/review/decisions/test_alerts.py",
    "tests/devportal/review/decisions/test_appeals.py",
    "tests/devportal/review/evidence/",
    "tests/devportal/review/rules/test_notifications.py",
    "tests/devportal/review/rules/test_workflow.py",
    "tests/devportal/review/submission/test_domain_lookups.py",
    "tests/devportal/review/submission/test_live_app.py",
    "tests/devportal/review/submission/test_logos.py",
    "tests/devportal/review/test_case_alerts.py",
    "tests/devportal/review/test_effects.py",
    "tests/devportal/review/test_failing_evidence.py",
    "tests/devportal/review/test_pages.py",
    "tests/devportal/review/test_scope_cases.py",
    "tests/devportal/review/test_scopes_of_apis.py",
    "tests/devportal/review/test_submitting.py",
    "tests/devportal/review/test_test_accounts.py",
    "tests/faults/",
    "tests/image/",
    "tests/machine/",
    "tests/monitoring/",
    "tests/oidc/apis/test_scope_review.py",
    "tests/oidc/authorization/test_account_choice.py",
    "tests/oidc/authorization/test_acr.py",
    "tests/oidc/authorization/test_ended_requests.py",
    "tests/oidc/authorization/test_optional_scopes.py",
    "tests/oidc/authorization/test_reviewed_hosts.py",
    "tests/oidc/clients/test_logos.py",
    "tests/oidc/domains/",
    "tests/oidc/events/",
    "tests/oidc/sign_in_log/",
    "tests/oidc/signing_keys/test_unreadable.py",
    "tests/oidc/test_page_budgets.py",
    "tests/oidc/test_sign_in_log.py",
    "tests/oidc/test_sign_out_problems.py",
    "tests/oidc/tokens/test_lost_responses.py",
    "tests/oidc/tokens/test_resource_indicators.py",
    "tests/security/test_bad_input.py",
    "tests/security/test_caching.py",
    "tests/security/test_console_secrets.py",
    "tests/security/test_crawl.py::test_each_person_gets_the_status_in_the_table",
    "tests/security/test_headers.py::test_only_pages_on_the_way_to_an_app_may_be_in_a_popup_of_the_app",
    "tests/security/test_hostile_receivers.py",
    "tests/security/test_idle_sessions.py",
    "tests/security/test_known_browsers.py",
    "tests/security/test_limits.py",
    "tests/security/test_mail_ceiling.py",
    "tests/security/test_outbound",
    "tests/security/test_people_limit.py",
    "tests/security/test_picture_addresses.py",
    "tests/security/test_playground.py",
    "tests/security/test_redirects.py",
    "tests/security/test_reviewed_badge.py",
    "tests/security/test_reviewers_outside_the_admin.py",
    "tests/security/test_secret_key_rotation.py",
    "tests/security/test_several_accounts.py",
    "tests/security/test_split_hosts.py",
    "tests/security/test_typed_input.py",
    "tests/security/test_vouchers.py",
    "tests/test_flaky.py",
    "tests/test_layers.py",
    "tests/test_release.py",
    "tests/test_risks.py",
    "tests/test_stylesheets.py",
    "tests/test_words.py",
    "tests/upgrades/test_baseline.py::test_the_first_migrations_are_final",
)
# Each of these takes half a minute or more; the longest come first.
BEGIN_FIRST = (
    "tests/image/test_roles.py",
    "tests/machine/test_sign_in_machine.py",
    "tests/devportal/admin/test_hostile_input.py::test_no_field_of_any_form_breaks_the_admin",
    "tests/faults/test_mail_server.py",
    "tests/upgrades/test_upgrade_under_load.py",
    "tests/faults/test_celery.py",
    "tests/machine/test_rotation_under_traffic.py",
    "tests/browser/",
    "tests/clients/",
    "tests/faults/",
    "tests/image/",
    "tests/monitoring/",
)
# The tests of each of these files share a server.
WHOLE = (
    "tests/browser/",
    "tests/clients/",
    "tests/faults/",
    "tests/image/",
    "tests/monitoring/",
    "tests/api/test_workers",
)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist's scheduler. It distributes whole files if their tests share a server, and otherwise single tests."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file.startswith(WHOLE) else nodeid


@cache
def has_apart(path: Path) -> bool:
    """Return whether a test file has tests with a marker of APART."""
    return SPELLED.search(path.read_text(encoding="utf-8")) is not None


def check_apart(items: Iterable[pytest.Item]) -> None:
    """Raise UsageError if a marker of APART is not written in the test's own file: `--apart` would not find it."""
    for item in items:
        if not APART.isdisjoint(mark.name for mark in item.iter_markers()) and not has_apart(item.path):
            raise pytest.UsageError(f"{item.nodeid}: write its marker in the file, as pytest.mark.<name>")


def mark_thorough(items: Iterable[pytest.Item]) -> None:
    """Mark the tests that only `make test-all` runs."""
    started = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if item.nodeid.startswith(THOROUGH) or test in started:
            item.add_marker("thorough")
        started.add(test)


def put_first(items: list[pytest.Item]) -> None:
    """Put the tests that take longest first; the order of the others does not change."""
    places = {path: number for number, path in enumerate(BEGIN_FIRST)}

    def place(item: pytest.Item) -> int:
        return next((places[path] for path in BEGIN_FIRST if item.nodeid.startswith(path)), len(places))

    items.sort(key=place)
