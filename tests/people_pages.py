"""The pages of people: the role that opens each one and its maximum number of SQL statements, and data for them.

docs/architecture.md#budgets has the rule; benchmarks/sign_in.py measures the same pages.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.test import Client as Browser

from accounts.models import Account
from accounts.plans import invitations as plan_invitations
from accounts.plans import members as plan_members
from oidc.authorization import consent
from tests.factories import make_account, make_client, make_project
from tests.relying_party import sign_in
from tests.security.crawl_world import Stage, make_stage
from tests.security.crawling import CONSOLE

MOST = 12
# The number of further rows in each list of the person, in addition to the one that tests/security creates.
MORE = 4

# The path (with words as in tests/security/crawl_table.py), the role that opens it, and the maximum of statements.
_PAGES = """
    /                                                    owner      2
    /connect/logout                                      owner      2
    /connect/signed-out                                  anonymous  0
    /account/                                            owner     12
    /account/profile                                     owner      4
    /account/choose                                      owner      2
    /account/apps/                                       owner      4
    /account/apps/{connection}/remove                    owner      3
    /apps/{slug}/                                        anonymous  3
    /apps/report/{shown}                                 owner      5
    /account/plan                                        owner     10
    /account/plan/family/members/{family_member}/remove  owner      3
    /account/plan/families/{family}/leave                viewer     3
    /account/plan/organizations/{organization}/leave     owner      3
    /account/sessions/                                   owner      4
    /account/activity/                                   owner      3
    /account/secure/                                     owner      5
    /account/data                                        owner      3
    /account/delete                                      owner      7
    /account/picture                                     owner      2
    /account/address/take-back                           anonymous  0
    /account/address/taken-back                          anonymous  0
    /account/undo/                                       anonymous  0
    /account/undone/                                     anonymous  0
    /leaked-credentials                                  anonymous  0
    /leaked-credentials/sent                             anonymous  0
    /account/login/                                      anonymous  0
    /account/login/again/                                owner      2
    /account/logout/                                     owner      2
    /account/inactive/                                   anonymous  0
    /account/signup/                                     anonymous  0
    /account/signup/details/                             anonymous  0
    /account/signup/passkey/                             anonymous  0
    /account/reauthenticate/                             owner      8
    /account/email/                                      owner      8
    /account/password/change/                            owner      3
    /account/password/reset/                             anonymous  0
    /account/password/reset/done/                        anonymous  1
    /account/recovery/                                   owner      3
    /account/2fa/                                        owner      6
    /account/2fa/reauthenticate/                         owner      9
    /account/2fa/totp/activate/                          person     8
    /account/2fa/totp/deactivate/                        owner      7
    /account/2fa/recovery-codes/                         owner      7
    /account/2fa/recovery-codes/generate/                owner      6
    /account/2fa/recovery-codes/download/                owner      7
    /account/2fa/webauthn/                               owner      4
    /account/2fa/webauthn/add/                           owner      9
    /account/2fa/webauthn/reauthenticate/                owner     10
    /account/2fa/webauthn/keys/{passkey}/remove/         owner      6
    /account/2fa/webauthn/keys/{passkey}/edit/           owner      6
"""
# Pages that are steps of a longer process: tests/accounts/test_page_budgets.py, tests/oidc/test_page_budgets.py and
# tests/oidc/authorization/test_account_choice.py open them.
IN_BETWEEN = frozenset(
    {
        "/connect/authorize", "/connect/consent", "/connect/step-up", "/connect/resume", "/account/choose/photo",
        "/account/confirm-email/", "/account/login/mailbox/", "/account/reauthenticate/email/",
        "/account/password/reset/confirm/", "/account/password/reset/complete/", "/account/2fa/authenticate/",
        "/account/recovery/start/",
    }
)  # fmt: skip
# URLs without a page: actions, requests of scripts, redirects, and pages that these settings do not use.
NOTHING_SHOWN = frozenset(
    {
        "/connect/dismiss", "/connect/logout/confirm", "/account/apps/which-account",
        "/account/apps/{connection}/ask-again", "/account/export", "/apps/report/{shown}/sent", "/account/export/file",
        "/account/goodbye", "/account/closed", "/account/plan/invitations/{to_me}/accept",
        "/account/plan/invitations/{to_me}/decline", "/account/plan/family/invite",
        "/account/plan/family/invitations/{from_me}/withdraw", "/account/password/set/", "/account/login/code/confirm/",
        "/account/reauthenticate/code/", "/account/reauthenticate/code/confirm/", "/account/sessions/{session}/end",
        "/account/2fa/webauthn/conditional/", "/account/2fa/webauthn/login/", "/account/2fa/first-codes/",
        "/account/2fa/staff/", "/account/2fa/webauthn/signup/", "/account/signup/password/", "/favicon.ico",
        "/llms.txt", "/robots.txt",
    }
)  # fmt: skip
# URLs that are not pages of people: the console, the admin, the docs, and endpoints for programs.
OTHERS = (
    *("/admin/", "/console/", "/docs/", "/v1", "/.well-known/", "//.well-known/", "/health/", "/hooks/"),
    *("/connect/token", "/connect/userinfo", "/connect/revoke", "/connect/introspect", "/connect/forward-auth/"),
    *("/logos/", "/pictures/"),
)


@dataclass(frozen=True)
class Page:
    """A page of people."""

    address: str
    role: str
    statements: int


def _page(line: str) -> Page:
    address, role, statements = line.split()
    return Page(address, role, int(statements))


PAGES = [_page(line) for line in _PAGES.strip().splitlines()]


def make_world() -> Stage:
    """Return the people of tests/security. The owner has several apps and projects, and the viewer several sessions."""
    stage = make_stage()
    owner = Account.objects.get(pk=stage.things["account"])
    family = plan_members.get_or_create_family(owner)
    for number in range(MORE):
        app = make_client(make_project(), name=f"App {number}", approved_scopes="account.read")
        consent.record_consent(owner, app, ["openid", "email", "profile", "account.read"])
        make_project(owner, name=f"Project {number}")
    plan_members.add_member(family, make_account("aunt@example.com"))
    for number in range(2):
        plan_invitations.invite(family, f"asked-{number}@example.com", owner)
    viewer = Account.objects.get(email="viewer@example.com")
    for number in range(MORE):
        sign_in(Browser(REMOTE_ADDR=f"10.77.{number}.1"), viewer)
    return stage


def console_pages() -> Iterator[str]:
    """Yield the path of each page of the console that the project's owner can open."""
    yield from (row.address for row in CONSOLE.values() if row.get["owner"] == 200)
