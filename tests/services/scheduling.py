"""Which tests `make test` leaves to `make test-all`, and how the latter shares those that need services.

`make test` is to take about two minutes on two cores. THOROUGH are the files that take longest: they try every page,
state, setting or hostile value, or all that the review desk does. With ARGS, `make test` leaves out none of them.

`--dist loadscope` shares tests that need services among xdist's processes. A file whose tests share a server stays
whole; all other tests go one by one to whoever is free. What takes longest by itself begins first, so that none of it
is left for the end, when the other processes have nothing more to do: xdist by itself begins with the files of most
tests, and the longest have one or two.
"""

import pytest
from xdist.scheduler import LoadScopeScheduling

THOROUGH = (
    "tests/accounts/mail/test_samples.py",
    "tests/accounts/plans/test_resolution.py",
    "tests/accounts/test_object_store.py",
    "tests/api/test_fuzz.py",
    "tests/api/test_profile_source.py",
    "tests/console/admin/test_hostile.py",
    "tests/console/admin/test_lists.py",
    "tests/console/admin/test_operators.py",
    "tests/console/admin/test_people.py",
    "tests/console/admin/test_queue.py",
    "tests/console/admin/test_review_admin.py",
    "tests/console/admin/test_review_page.py",
    "tests/console/admin/test_security_actions.py",
    "tests/console/admin/test_staff_second_factor.py",
    "tests/console/admin/test_who_sees_what.py",
    "tests/console/app_pages/",
    "tests/console/docs/test_docs.py",
    "tests/console/docs/test_frame.py",
    "tests/console/docs/test_markdown.py",
    "tests/console/playground/",
    "tests/console/provisioning/test_demo_week.py",
    "tests/console/reviews/",
    "tests/console/test_audit.py",
    "tests/console/test_loaded_sheets.py",
    "tests/console/test_who_may_what.py",
    "tests/console/usage/",
    "tests/faults/",
    "tests/image/",
    "tests/lib/telemetry/test_exporter.py",
    "tests/lib/test_smtp.py",
    "tests/lib/test_wrong_method.py",
    "tests/machine/",
    "tests/monitoring/",
    "tests/oidc/authorization/test_account_choice.py",
    "tests/oidc/authorization/test_acr.py",
    "tests/oidc/test_head.py",
    "tests/oidc/test_sign_in_log.py",
    "tests/security/",
    "tests/test_flaky.py",
    "tests/test_floors.py",
    "tests/test_release.py",
    "tests/test_sheets.py",
)
# Each takes half a minute or more; the longest come first.
BEGIN_FIRST = (
    "tests/image/test_roles.py",
    "tests/machine/test_sign_in_machine.py",
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
# Their tests share a server that the file starts.
WHOLE = (
    "tests/browser/",
    "tests/clients/",
    "tests/faults/",
    "tests/image/",
    "tests/monitoring/",
    "tests/api/test_workers",
)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist's own, by files where their tests share something, and else by tests."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file.startswith(WHOLE) else nodeid


def put_first(items: list[pytest.Item]) -> None:
    """Put tests that take long before the others, whose order stays as it is."""
    places = {path: number for number, path in enumerate(BEGIN_FIRST)}

    def place(item: pytest.Item) -> int:
        return next((places[path] for path in BEGIN_FIRST if item.nodeid.startswith(path)), len(places))

    items.sort(key=place)
