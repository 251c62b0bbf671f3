"""Every URL of the service: the status that each kind of person gets there, and the headers.

A row has a URL, the statuses of GET, and those of POST with an empty form. Words in braces are replaced by objects of
one project, objects of its owner, or a row of the admin's model (tests/security/crawl_world.py creates them); `*` is
replaced by each of the group's models or pages. There is a status for each column of the group. HEAD responds like
GET. A POST without a CSRF token gets 403, unless the group is exempt from that.

Columns: `anonymous` has no session. `person` is signed in and does not belong to the project; `outsider` owns another
project. `viewer`, `developer` and `owner` are members of the project. `reviewer`, `operator` and `superuser` are staff,
and not members. `others` are all of these that the group does not name, and `everyone` is all of them. `app` is a
program with an access token.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """The headers that all URLs of a group share; test_crawl.py has the possible values and their meaning."""

    cache: str
    csp: str = "page"
    frame: str = "DENY"
    cors: str = "none"
    exempt: bool = False


@dataclass(frozen=True)
class Group:
    title: str
    policy: Policy
    columns: str
    rows: str
    models: str = ""


OPEN_PAGE = Policy(cache="no-store when signed in")
# Strangers are redirected to the sign-in page, or get a page without personal data.
PERSONAL = OPEN_PAGE
PAGE = Policy(cache="no-store")
ADMIN = Policy(cache="no-store when signed in", csp="admin")
# Apps send people here, with a redirect or a form.
FROM_APPS = Policy(cache="no-store", exempt=True)
API = Policy(cache="no-store", csp="none", frame="none", cors="any", exempt=True)


def published(seconds: int) -> Policy:
    """Return the policy of responses that are the same for everyone, and that every cache may store."""
    return Policy(f"public, max-age={seconds}", csp="none", frame="none", cors="any", exempt=True)


GROUPS = (
    Group(
        "Pages for everyone",
        OPEN_PAGE,
        "everyone",
        """
        /                                   200 | 405
        /docs/                              200 | 405
        /docs/*                             200 | 405
        /docs/apis/{api}                    200 | 405
        /docs/search                        200 | 405
        """,
        models="quick-start/web-app quick-start/browser-app quick-start/installed-app quick-start/api-key guides "
        "guides/nextjs guides/react guides/express guides/node guides/django-allauth guides/django-mozilla "
        "guides/fastapi guides/flask guides/go guides/spring guides/spring-resource guides/nimbus "
        "guides/vue guides/svelte guides/angular guides/mobile guides/aspnet guides/laravel guides/symfony "
        "guides/applications guides/rails guides/terminal guides/apache guides/protect-nginx guides/protect-caddy "
        "guides/protect-fastapi guides/protect-django guides/protect-express guides/protect-spring "
        "guides/protect-go guides/events-express guides/events-django guides/events-fastapi "
        "guides/protect-your-api sign-in/authorization sign-in/tokens sign-in/userinfo sign-in/revocation "
        "sign-in/sign-out sign-in/events sign-in/discovery apis developer-api/me developer-api/plan errors "
        "limits counting testing plans review notices deprecation changelog",
    ),
    Group(
        "The page to try the developer API on",
        PAGE,
        "everyone",
        """
        /docs/api/                          200 | 200
        """,
    ),
    Group(
        "Published for programs",
        published(3600),
        "everyone",
        """
        /.well-known/openid-configuration        200 | 405
        //.well-known/openid-configuration       200 | 405
        /.well-known/oauth-authorization-server  200 | 405
        /.well-known/oauth-protected-resource    200 | 405
        /v1/openapi.json                         200 | 405
        """,
    ),
    Group(
        "The metadata of an API, for its operator",
        Policy(cache="public, max-age=3600"),
        "everyone",
        """
        /docs/apis/{api}/oauth-protected-resource.json  200 | 405
        """,
    ),
    Group(
        "The docs for programs that read text",
        Policy(cache="public, max-age=300"),
        "everyone",
        """
        /docs/index.md                      200 | 405
        /docs/none.md                       404 | 405
        /docs/changelog.atom                200 | 405
        /llms.txt                           200 | 405
        """,
    ),
    Group(
        "What crawlers may read",
        Policy(cache="public, max-age=3600"),
        "everyone",
        """
        /robots.txt                         200 | 405
        """,
    ),
    Group(
        "Keys that tokens are checked with",
        published(600),
        "everyone",
        """
        /.well-known/jwks                   200 | 405
        """,
    ),
    Group(
        "Endpoints for apps",
        API,
        "everyone  app",
        """
        /connect/token                      405 405 | 400 400
        /connect/revoke                     405 405 | 400 400
        /connect/userinfo                   401 200 | 401 200
        /connect/forward-auth/{api}         401 401 | 401 401
        /connect/forward-auth/{api}/x       401 401 | 401 401
        /v1/me                              401 200 | 405 405
        /v1/nothing                         404 404 | 404 404
        /v1                                 404 404 | 404 404
        """,
    ),
    Group(
        "Endpoints for the company's own APIs",
        Policy(cache="no-store", csp="none", frame="none", exempt=True),
        "everyone  app",
        """
        /connect/introspect                 405 405 | 400 400
        """,
    ),
    Group(
        "The plan, which apps may keep for a while",
        Policy(cache="private, max-age, ETag", csp="none", frame="none", cors="any", exempt=True),
        "everyone  app",
        """
        /v1/me/plan                         401 200 | 405 405
        """,
    ),
    Group(
        "Where other programs report or look",
        Policy(cache="no-store", exempt=True),
        "everyone",
        """
        /hooks/billing                      404 | 404
        /hooks/leaked-credentials           404 | 404
        """,
    ),
    Group(
        "Whom to tell of a vulnerability, where nobody is named",
        Policy(cache="no-store", csp="none", frame="none", exempt=True),
        "everyone",
        """
        /.well-known/security.txt           404 | 405
        """,
    ),
    Group(
        "Health",
        Policy(cache="no-store", csp="none", frame="none", exempt=True),
        "everyone",
        """
        /health/live                        200 | 405
        /health/ready                       200 | 405
        """,
    ),
    Group(
        "Pictures that apps show",
        Policy(cache="private for minutes", cors="of what is there"),
        "everyone",
        """
        /pictures/{picture}/{version}.webp  200 | 405
        /pictures/{picture}/none.webp       404 | 405
        """,
    ),
    Group(
        "Logos of reviewed apps; of others there are none",
        Policy(cache="public"),
        "everyone",
        """
        /logos/{shown}/{logo}.webp          200 | 405
        /logos/{shown}/none.webp            404 | 405
        /logos/{client}/none.webp           404 | 405
        """,
    ),
    Group(
        "The public page of a reviewed app; of others there is none",
        OPEN_PAGE,
        "everyone",
        """
        /apps/{slug}/                       200 | 405
        /apps/none/                         404 | 405
        """,
    ),
    Group(
        "Reporting an app",
        PERSONAL,
        "anonymous others owner",
        """
        /apps/report/{shown}                302 200 200 | 302 200 200
        /apps/report/{client}               302 404 200 | 302 404 200
        /apps/report/{shown}/sent           302 302 302 | 302 405 405
        """,
    ),
    Group(
        "A picture for the tab of the browser",
        Policy(cache="any"),
        "everyone",
        """
        /favicon.ico                        302 | 302
        """,
    ),
    Group(
        "On the way to an app and back, as apps send people there",
        FROM_APPS,
        "anonymous others",
        """
        /connect/authorize                  400 400 | 400 400
        /connect/logout                     302 200 | 303 303
        """,
    ),
    Group(
        "On the way to an app and back, as our own pages lead there",
        PAGE,
        "anonymous others",
        """
        /connect/consent                    302 410 | 302 302
        /connect/step-up                    302 410 | 302 302
        /connect/resume                     302 302 | 302 302
        /connect/dismiss                    405 405 | 302 302
        /connect/logout/confirm             405 405 | 302 302
        /connect/signed-out                 200 200 | 405 405
        /account/choose                     302 200 | 302 302
        /account/choose/photo               404 404 | 405 405
        """,
    ),
    Group(
        "Signing in and up; signed-in people are sent on",
        PAGE,
        "anonymous others",
        """
        /account/login/                     200 302 | 200 302
        /account/login/code/confirm/        302 302 | 302 302
        /account/login/mailbox/             302 302 | 302 302
        /account/signup/                    200 302 | 200 302
        /account/signup/details/            200 302 | 200 302
        /account/signup/passkey/            200 302 | 200 302
        /account/signup/password/           302 302 | 302 302
        /account/2fa/authenticate/          302 302 | 302 302
        /account/2fa/webauthn/login/        302 302 | 302 302
        /account/recovery/start/            302 302 | 302 302
        /account/2fa/webauthn/signup/       302 302 | 302 302
        """,
    ),
    Group(
        "Forgotten passwords, proving an address, being turned off",
        OPEN_PAGE,
        "anonymous others",
        """
        /account/password/reset/            200 200 | 200 200
        /account/password/reset/confirm/    302 302 | 302 302
        /account/password/reset/complete/   302 302 | 302 302
        /account/password/reset/done/       200 200 | 405 405
        /account/confirm-email/             302 302 | 302 302
        /account/address/take-back          200 200 | 200 200
        /account/address/taken-back         200 200 | 302 302
        /account/undo/                      200 200 | 200 200
        /account/undone/                    200 200 | 405 405
        /account/inactive/                  200 200 | 405 405
        """,
    ),
    Group(
        "Leaked keys",
        OPEN_PAGE,
        "everyone",
        """
        /leaked-credentials                 200 | 200
        /leaked-credentials/sent            200 | 405
        """,
    ),
    Group(
        "A person's account",
        PERSONAL,
        "anonymous others",
        """
        /account/                           302 200 | 302 405
        /account/profile                    302 200 | 302 200
        /account/email/                     302 200 | 302 302
        /account/password/change/           302 200 | 302 200
        /account/password/set/              302 302 | 302 302
        /account/reauthenticate/            302 200 | 302 200
        /account/reauthenticate/email/      302 302 | 302 302
        /account/reauthenticate/code/       302 403 | 302 403
        /account/reauthenticate/code/confirm/  302 403 | 302 403
        /account/login/again/               302 200 | 302 405
        /account/logout/                    302 200 | 302 302
        /account/sessions/                  302 200 | 302 302
        /account/activity/                  302 200 | 302 405
        /account/secure/                    200 200 | 200 302
        /account/apps/                      302 200 | 302 405
        /account/apps/which-account         302 302 | 302 302
        /account/plan                       302 200 | 302 405
        /account/recovery/                  302 200 | 302 200
        /account/data                       302 200 | 302 405
        /account/export                     302 302 | 302 302
        /account/export/file                302 302 | 302 405
        /account/goodbye                    302 302 | 405 405
        /account/closed                     302 302 | 302 302
        /account/2fa/                       302 200 | 302 405
        /account/2fa/first-codes/           302 302 | 302 302
        /account/2fa/staff/                 302 302 | 302 405
        /account/2fa/webauthn/              302 200 | 302 405
        /account/2fa/webauthn/add/          302 200 | 302 200
        """,
    ),
    Group(
        "Objects that belong to the owner alone: an app that they use, second factors, a photo, an invitation to them",
        PERSONAL,
        "anonymous others owner",
        """
        /account/apps/{connection}/remove                    302 404 200 | 302 404 302
        /account/apps/{connection}/ask-again                 302 302 302 | 302 404 302
        /account/picture                                     404 404 200 | 405 405 405
        /account/sessions/{session}/end                      302 405 405 | 302 404 302
        /account/plan/invitations/{to_me}/accept             302 302 302 | 302 404 302
        /account/plan/invitations/{to_me}/decline            302 302 302 | 302 404 302
        /account/plan/family/invite                          302 302 302 | 302 404 200
        /account/plan/family/invitations/{from_me}/withdraw  302 302 302 | 302 404 302
        /account/plan/family/members/{family_member}/remove  302 404 200 | 302 404 302
        /account/plan/organizations/{organization}/leave     302 404 200 | 302 404 302
        /account/2fa/reauthenticate/                         302 302 200 | 302 302 200
        /account/2fa/totp/activate/                          302 200 302 | 302 200 302
        /account/2fa/totp/deactivate/                        302 404 200 | 302 404 302
        /account/2fa/recovery-codes/                         302 404 200 | 302 405 405
        /account/2fa/recovery-codes/generate/                302 200 200 | 302 200 302
        /account/2fa/recovery-codes/download/                302 404 200 | 302 404 405
        /account/2fa/webauthn/conditional/                   302 204 200 | 302 204 400
        /account/2fa/webauthn/reauthenticate/                302 302 200 | 302 302 302
        /account/2fa/webauthn/keys/{passkey}/remove/         302 404 200 | 302 404 302
        /account/2fa/webauthn/keys/{passkey}/edit/           302 404 200 | 302 404 200
        """,
    ),
    Group(
        "Deleting the account: the only owner of a project is told to hand it over first",
        PERSONAL,
        "anonymous others outsider owner",
        """
        /account/delete                                      302 200 200 200 | 302 302 200 200
        """,
    ),
    Group(
        "Leaving a family: its owner can't, the member can",
        PAGE,
        "anonymous others viewer",
        """
        /account/plan/families/{family}/leave                302 404 200 | 302 404 302
        """,
    ),
    Group(
        "The console, for everyone",
        PAGE,
        "anonymous others",
        """
        /console/                                     302 200 | 302 405
        /console/projects/new                         302 200 | 302 200
        /console/invitations/{project_invitation}     302 405 | 302 302
        /console/jump                                 302 200 | 302 405
        /console/check/name                           302 405 | 302 200
        /console/check/addresses                      302 405 | 302 200
        /console/playground/callback                  400 400 | 405 405
        /console/notices                              302 200 | 302 405
        /console/notices/read                         302 405 | 302 302
        """,
    ),
    Group(
        "A notice, which leads to the page that it is about",
        PAGE,
        "anonymous others owner",
        """
        /console/notices/{notice}                     302 404 302 | 302 405 405
        """,
    ),
    Group(
        "A project",
        PAGE,
        "anonymous others viewer developer owner",
        """
        /console/p/{project}/                         302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/settings                 302 404 200 200 200 | 302 404 403 403 200
        /console/p/{project}/transfer                 302 404 403 403 200 | 302 404 403 403 200
        /console/p/{project}/leave                    302 404 200 200 200 | 302 404 302 302 302
        /console/p/{project}/delete                   302 404 403 403 200 | 302 404 403 403 200
        /console/p/{project}/restore                  302 405 405 405 405 | 302 404 403 403 302
        /console/p/{project}/team                     302 404 200 200 200 | 302 404 403 403 200
        /console/p/{project}/team/{member}            302 404 403 403 200 | 302 404 403 403 200
        /console/p/{project}/team/{member}/remove     302 405 405 405 405 | 302 404 403 403 302
        /console/p/{project}/invitations/{project_invitation}/renew     302 405 405 405 405 | 302 404 403 403 302
        /console/p/{project}/invitations/{project_invitation}/withdraw  302 405 405 405 405 | 302 404 403 403 302
        /console/p/{project}/domains                  302 404 200 200 200 | 302 404 403 200 200
        /console/p/{project}/domains/{domain}/check   302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/domains/{domain}/remove  302 404 403 200 200 | 302 404 403 302 302
        /console/p/{project}/team/activity            302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/notices                  302 404 200 200 200 | 302 404 302 302 302
        /console/p/{project}/analytics/people         302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/analytics                302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/analytics/sign-ins       302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/logs                     302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/logs/requests            302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/logs/requests/{request_entry}  302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/logs/deliveries           302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/keys                     302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/keys/new                 302 404 403 200 200 | 302 404 403 200 200
        /console/p/{project}/keys/{key}/rotate        302 404 403 403 200 | 302 404 403 403 200
        /console/p/{project}/keys/{key}/expiry        302 404 403 403 200 | 302 404 403 403 200
        /console/p/{project}/keys/{key}/revoke        302 404 403 403 200 | 302 404 403 403 302
        /console/p/{project}/clients                  302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/appeal                   302 404 403 302 302 | 302 404 403 302 302
        /console/p/{project}/clients/new              302 404 403 200 200 | 302 404 403 200 200
        """,
    ),
    Group(
        "Old URLs of a project and of a client",
        PAGE,
        "anonymous others viewer developer owner",
        """
        /console/p/{project}/usage                                302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/usage.csv                            302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/sign-ins                             302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/sign-ins.csv                         302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/people                               302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/sign-in-log                          302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/requests                             302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/requests/{request_entry}             302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/members                              302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/members/{member}                     302 404 403 403 301 | 405 405 405 405 405
        /console/p/{project}/activity                             302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/clients/{client}/sign-ins            302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/clients/{client}/sign-ins/{sign_in}  302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/clients/{client}/analytics           302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/clients/{client}/analytics.csv       302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/clients/{client}/permissions         302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/clients/{client}/secrets             302 404 301 301 301 | 405 405 405 405 405
        /console/p/{project}/clients/{client}/tester              302 404 301 301 301 | 405 405 405 405 405
        """,
    ),
    Group(
        "An app",
        PAGE,
        "anonymous others viewer developer owner",
        """
        /console/p/{project}/clients/{client}/                      302 404 200 200 200 | 302 404 403 200 200
        /console/p/{project}/clients/{client}/switch                302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/type                  302 404 403 200 200 | 302 404 403 200 200
        /console/p/{project}/clients/{client}/delete                302 404 403 200 200 | 302 404 403 200 200
        /console/p/{project}/clients/{client}/secrets/new           302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/secrets/{secret}/rotate  302 404 403 200 200 | 302 404 403 200 200
        /console/p/{project}/clients/{client}/secrets/{secret}/expiry  302 404 403 200 200 | 302 404 403 200 200
        /console/p/{project}/clients/{client}/secrets/{secret}/end  302 404 403 200 200 | 302 404 403 200 200
        /console/p/{project}/clients/{client}/quick-start           302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/clients/{client}/activity              302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/clients/{client}/activity/analytics    302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/clients/{client}/activity/{sign_in}    302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/clients/{client}/events                302 404 200 200 200 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/events/logout/test    302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/events/logout/resume  302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/events/logout/retry   302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/deliveries            302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/clients/{client}/deliveries/{delivery}        302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/clients/{client}/deliveries/{delivery}/again  302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/playground            302 404 200 200 200 | 302 405 405 405 405
        /console/p/{project}/clients/{client}/playground/tester     302 405 405 405 405 | 302 404 200 200 200
        /console/p/{project}/clients/{client}/playground/address    302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/playground/begin      302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/playground/exchange   302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/playground/refresh    302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/playground/events     302 404 403 200 200 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/playground/end        302 405 405 405 405 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/page                  302 404 200 200 200 | 302 404 403 200 200
        /console/p/{project}/clients/{client}/branding              302 404 200 200 200 | 302 404 403 200 200
        /console/p/{project}/clients/{client}/review                302 404 200 200 200 | 302 404 403 302 302
        /console/p/{project}/clients/{client}/review/appeal         302 404 403 302 302 | 302 404 403 302 302
        """,
    ),
    Group(
        "What reviewers see of a client, too",
        PAGE,
        "anonymous others viewer developer owner reviewer superuser",
        """
        /console/p/{project}/clients/{client}/review/preview/{number}  302 404 200 200 200 200 200 | 302 405 405 405 405 405 405
        /console/p/{project}/clients/{shown}/review/logo/{logo}.webp   302 404 200 200 200 200 200 | 302 405 405 405 405 405 405
        /console/p/{project}/clients/{shown}/review/logo/none.webp     302 404 404 404 404 404 404 | 302 405 405 405 405 405 405
        """,  # noqa: E501  (a row is a line)
    ),
    Group(
        "The admin has no separate sign-in: strangers are sent to the service's, people with access are let in",
        ADMIN,
        "anonymous others reviewer operator superuser",
        """
        /admin/login/                       302 403 302 302 302 | 302 403 302 302 302
        """,
    ),
    Group(
        "The admin: people without a role are sent to sign in, and from there home",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/                             302 200 200 200 | 302 200 200 200
        /admin/logout/                      302 302 302 302 | 302 302 302 302
        /admin/password_change/             302 302 302 302 | 302 302 302 302
        /admin/password_change/done/        302 302 302 302 | 302 302 302 302
        /admin/search/                      302 404 404 404 | 302 404 404 404
        /admin/autocomplete/                302 403 403 403 | 302 405 405 405
        /admin/jsi18n/                      302 200 200 200 | 302 405 405 405
        /admin/r/1/1/                       302 404 404 404 | 302 404 404 404
        /admin/oidc/                        302 200 200 200 | 302 200 200 200
        /admin/accounts/                    302 404 200 200 | 302 404 200 200
        /admin/api/                         302 404 200 200 | 302 404 200 200
        /admin/console/                     302 200 200 200 | 302 200 200 200
        /admin/operations/                  302 404 200 200 | 302 404 200 200
        /admin/review/                      302 200 200 200 | 302 200 200 200
        /admin/nothing/                     302 404 404 404 | 302 404 404 404
        """,
    ),
    Group(
        "App review",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/review/appreview/                                 302 200 403 200 | 302 200 403 200
        /admin/review/appreview/add/                             302 403 403 403 | 302 403 403 403
        /admin/review/appreview/{review}/                        302 302 302 302 | 302 302 302 302
        /admin/review/appreview/{review}/change/                 302 200 403 200 | 302 403 403 403
        /admin/review/appreview/{review}/delete/                 302 403 403 403 | 302 403 403 403
        /admin/review/appreview/{review}/history/                302 302 403 302 | 302 302 403 302
        /admin/review/appreview/my-mails/                        302 200 403 200 | 302 302 403 302
        /admin/review/appreview/{review}/leave/                  302 404 403 404 | 302 403 403 403
        /admin/review/appreview/{review}/check-again/            302 405 405 405 | 302 302 403 302
        /admin/review/appreview/{review}/logo/asked/             302 404 403 404 | 302 403 403 403
        /admin/review/appreview/{decided}/logo/asked/            302 200 403 200 | 302 403 403 403
        /admin/review/appreview/{review}/test-account/           302 200 403 200 | 302 302 403 302
        /admin/review/appreview/do/none/                         302 404 404 404 | 302 404 404 404
        /admin/review/appreview/{review}/do/none/                302 404 403 404 | 302 404 403 404
        /admin/review/appreview/{review}/do/take/                302 200 403 200 | 302 302 403 302
        /admin/review/appreview/{review}/do/assign/              302 200 403 200 | 302 302 403 302
        /admin/review/appreview/{review}/do/start/               302 200 403 200 | 302 200 403 200
        /admin/review/appreview/{review}/do/answer/              302 200 403 200 | 302 200 403 200
        /admin/review/appreview/{review}/do/request-changes/     302 302 403 302 | 302 302 403 302
        /admin/review/appreview/{review}/do/approve/             302 302 403 302 | 302 302 403 302
        /admin/review/appreview/{review}/do/reject/              302 302 403 302 | 302 302 403 302
        /admin/review/appreview/{review}/do/withdraw-approval/   302 302 403 302 | 302 302 403 302
        /admin/review/appreview/{review}/do/suspend/             302 200 403 200 | 302 200 403 200
        /admin/review/appreview/{review}/do/lift/                302 302 403 302 | 302 302 403 302
        /admin/review/appreview/{review}/do/note/                302 200 403 200 | 302 200 403 200
        """,
    ),
    Group(
        "Canned replies, which the desk and operators write",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/*/                           302 200 200 200 | 302 200 200 200
        /admin/*/add/                       302 200 200 200 | 302 200 200 200
        /admin/*/{row}/                     302 302 302 302 | 302 302 302 302
        /admin/*/{row}/change/              302 200 200 200 | 302 200 200 200
        /admin/*/{row}/delete/              302 200 200 200 | 302 200 200 200
        /admin/*/{row}/history/             302 302 302 302 | 302 302 302 302
        /admin/*/do/none/                   302 404 404 404 | 302 404 404 404
        /admin/*/{row}/do/none/             302 404 404 404 | 302 404 404 404
        """,
        models="review/cannedreply",
    ),
    Group(
        "The desk's cases",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/review/reviewcase/                                302 200 403 200 | 302 200 403 200
        /admin/review/reviewcase/add/                            302 403 403 403 | 302 403 403 403
        /admin/review/reviewcase/{case}/                         302 302 302 302 | 302 302 302 302
        /admin/review/reviewcase/{case}/change/                  302 200 403 200 | 302 403 403 403
        /admin/review/reviewcase/{case}/delete/                  302 403 403 403 | 302 403 403 403
        /admin/review/reviewcase/{case}/history/                 302 302 403 302 | 302 302 403 302
        /admin/review/reviewcase/{case}/logo/                    302 404 403 404 | 302 403 403 403
        /admin/review/reviewcase/do/none/                        302 404 404 404 | 302 404 404 404
        /admin/review/reviewcase/{case}/do/none/                 302 404 403 404 | 302 404 403 404
        /admin/review/reviewcase/{case}/do/take/                 302 200 403 200 | 302 302 403 302
        /admin/review/reviewcase/{case}/do/assign/               302 200 403 200 | 302 302 403 302
        /admin/review/reviewcase/{case}/do/note/                 302 200 403 200 | 302 200 403 200
        /admin/review/reviewcase/{case}/do/ask/                  302 200 403 200 | 302 200 403 200
        /admin/review/reviewcase/{case}/do/renew/                302 302 403 302 | 302 302 403 302
        /admin/review/reviewcase/{case}/do/close/                302 200 403 200 | 302 200 403 200
        /admin/review/reviewcase/{case}/do/confirm/              302 302 403 302 | 302 302 403 302
        /admin/review/reviewcase/{case}/do/withdraw-approval/    302 302 403 302 | 302 302 403 302
        /admin/review/reviewcase/{case}/do/suspend/              302 200 403 200 | 302 200 403 200
        /admin/review/reviewcase/{case}/do/lift/                 302 302 403 302 | 302 302 403 302
        """,
    ),
    Group(
        "What the emails look like",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/accounts/outbox/samples/                           302 403 200 200 | 302 403 403 403
        /admin/accounts/outbox/samples/unknown_account/1/         302 403 200 200 | 302 403 403 403
        /admin/accounts/outbox/samples/unknown_account/99/        302 403 404 404 | 302 403 403 403
        /admin/accounts/outbox/samples/base/1/                    302 403 404 404 | 302 403 403 403
        """,
    ),
    Group(
        "Lists of the admin, and rows that it only shows; where there is an act, it is in a group below",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/*/                           302 403 200 200 | 302 403 200 200
        /admin/*/add/                       302 403 403 403 | 302 403 403 403
        /admin/*/{row}/                     302 302 302 302 | 302 302 302 302
        /admin/*/{row}/change/              302 403 200 200 | 302 403 403 403
        /admin/*/{row}/delete/              302 403 403 403 | 302 403 403 403
        /admin/*/{row}/history/             302 403 302 302 | 302 403 302 302
        /admin/*/do/none/                   302 404 404 404 | 302 404 404 404
        /admin/*/{row}/do/none/             302 403 404 404 | 302 403 404 404
        """,
        models="accounts/invitation accounts/outbox api/apikey api/requestlog console/signinevent operations/taskrun "
        "oidc/accesstoken oidc/apicredential oidc/connection oidc/delivery oidc/eventreceiver oidc/refreshtoken "
        "oidc/signingkey",
    ),
    Group(
        "Lists and rows that reviewers read as well",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/*/                           302 200 200 200 | 302 200 200 200
        /admin/*/add/                       302 403 403 403 | 302 403 403 403
        /admin/*/{row}/                     302 302 302 302 | 302 302 302 302
        /admin/*/{row}/change/              302 200 200 200 | 302 403 403 403
        /admin/*/{row}/delete/              302 403 403 403 | 302 403 403 403
        /admin/*/{row}/history/             302 302 302 302 | 302 302 302 302
        /admin/*/do/none/                   302 404 404 404 | 302 404 404 404
        /admin/*/{row}/do/none/             302 404 404 404 | 302 404 404 404
        """,
        models="console/auditevent oidc/client oidc/project oidc/projectdomain",
    ),
    Group(
        "APIs, which operators add and change, and reviewers read",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/*/                           302 200 200 200 | 302 200 200 200
        /admin/*/add/                       302 403 200 200 | 302 403 200 200
        /admin/*/{row}/                     302 302 302 302 | 302 302 302 302
        /admin/*/{row}/change/              302 200 200 200 | 302 403 200 200
        /admin/*/{row}/delete/              302 403 403 403 | 302 403 403 403
        /admin/*/{row}/history/             302 302 302 302 | 302 302 302 302
        /admin/*/do/none/                   302 404 404 404 | 302 404 404 404
        /admin/*/{row}/do/none/             302 404 404 404 | 302 404 404 404
        """,
        models="oidc/api",
    ),
    Group(
        "Rows that operators add, change and delete",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/*/                           302 403 200 200 | 302 403 200 200
        /admin/*/add/                       302 403 200 200 | 302 403 200 200
        /admin/*/{row}/                     302 302 302 302 | 302 302 302 302
        /admin/*/{row}/change/              302 403 200 200 | 302 403 200 200
        /admin/*/{row}/delete/              302 403 200 200 | 302 403 200 200
        /admin/*/{row}/history/             302 403 302 302 | 302 403 302 302
        /admin/*/do/none/                   302 404 404 404 | 302 404 404 404
        /admin/*/{row}/do/none/             302 403 404 404 | 302 403 404 404
        """,
        models="accounts/family accounts/feature accounts/organization",
    ),
    Group(
        "Rows that operators add, and change or delete in part",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/accounts/account/                               302 403 200 200 | 302 403 200 200
        /admin/accounts/account/add/                           302 403 403 403 | 302 403 403 403
        /admin/accounts/account/{row}/                         302 302 302 302 | 302 302 302 302
        /admin/accounts/account/{row}/change/                  302 403 200 200 | 302 403 302 302
        /admin/accounts/account/{row}/delete/                  302 403 403 403 | 302 403 403 403
        /admin/accounts/account/{row}/history/                 302 403 302 302 | 302 403 302 302
        /admin/accounts/organizationmember/                    302 403 200 200 | 302 403 200 200
        /admin/accounts/organizationmember/add/                302 403 200 200 | 302 403 200 200
        /admin/accounts/organizationmember/{row}/              302 302 302 302 | 302 302 302 302
        /admin/accounts/organizationmember/{row}/change/       302 403 200 200 | 302 403 403 403
        /admin/accounts/organizationmember/{row}/delete/       302 403 200 200 | 302 403 200 200
        /admin/accounts/organizationmember/{row}/history/      302 403 302 302 | 302 403 302 302
        /admin/accounts/plan/                                  302 403 200 200 | 302 403 200 200
        /admin/accounts/plan/add/                              302 403 200 200 | 302 403 200 200
        /admin/accounts/plan/{row}/                            302 302 302 302 | 302 302 302 302
        /admin/accounts/plan/{row}/change/                     302 403 200 200 | 302 403 200 200
        /admin/accounts/plan/{row}/delete/                     302 403 403 403 | 302 403 403 403
        /admin/accounts/plan/{row}/history/                    302 403 302 302 | 302 403 302 302
        /admin/accounts/subscription/                          302 403 200 200 | 302 403 200 200
        /admin/accounts/subscription/add/                      302 403 200 200 | 302 403 200 200
        /admin/accounts/subscription/{row}/                    302 302 302 302 | 302 302 302 302
        /admin/accounts/subscription/{row}/change/             302 403 200 200 | 302 403 200 200
        /admin/accounts/subscription/{row}/delete/             302 403 403 403 | 302 403 403 403
        /admin/accounts/subscription/{row}/history/            302 403 302 302 | 302 403 302 302
        /admin/accounts/subscription/{row}/step                302 403 403 403 | 302 403 302 302
        /admin/*/do/none/                                      302 404 404 404 | 302 404 404 404
        /admin/*/{row}/do/none/                                302 403 404 404 | 302 403 404 404
        """,
        models="accounts/account accounts/organizationmember accounts/plan accounts/subscription",
    ),
    Group(
        "Acts of operators; one that is not possible now leads back",
        ADMIN,
        "others reviewer operator superuser",
        """
        /admin/accounts/account/{row}/do/activate/             302 403 302 302 | 302 403 302 302
        /admin/accounts/account/{row}/do/cancel-recovery/      302 403 302 302 | 302 403 302 302
        /admin/accounts/account/{row}/do/remove-factors/       302 403 200 200 | 302 403 200 200
        /admin/accounts/account/{row}/do/deactivate/           302 403 200 200 | 302 403 200 200
        /admin/accounts/account/{row}/do/keep/                 302 403 302 302 | 302 403 302 302
        /admin/accounts/account/{row}/do/delete/               302 403 200 200 | 302 403 200 200
        /admin/accounts/account/{row}/do/export/               302 403 200 200 | 302 403 200 200
        /admin/accounts/account/{row}/do/roles/                302 403 302 200 | 302 403 302 302
        /admin/accounts/account/{row}/do/send-reset/           302 403 200 200 | 302 403 200 200
        /admin/accounts/account/{row}/do/sign-out/             302 403 200 200 | 302 403 200 200
        /admin/accounts/invitation/{row}/do/withdraw/          302 403 200 200 | 302 403 302 302
        /admin/accounts/organization/{row}/do/invite/          302 403 200 200 | 302 403 200 200
        /admin/accounts/outbox/{row}/do/retry/                 302 403 302 302 | 302 403 302 302
        /admin/api/apikey/{row}/do/revoke/                     302 403 200 200 | 302 403 302 302
        /admin/oidc/api/{row}/do/credential/                   302 403 200 200 | 302 403 200 200
        /admin/oidc/api/{row}/do/delete/                       302 403 200 200 | 302 403 302 302
        /admin/oidc/api/{row}/do/off/                          302 403 200 200 | 302 403 200 200
        /admin/oidc/api/{row}/do/on/                           302 403 302 302 | 302 403 302 302
        /admin/oidc/apicredential/{row}/do/revoke/             302 403 200 200 | 302 403 302 302
        /admin/oidc/apicredential/{row}/do/rotate/             302 403 200 200 | 302 403 200 200
        /admin/oidc/client/{row}/do/off/                       302 403 200 200 | 302 403 200 200
        /admin/oidc/client/{row}/do/on/                        302 403 302 302 | 302 403 302 302
        /admin/oidc/delivery/{row}/do/again/                   302 403 302 302 | 302 403 302 302
        /admin/oidc/eventreceiver/{row}/do/again/              302 403 200 200 | 302 403 302 302
        /admin/oidc/eventreceiver/{row}/do/resume/             302 403 302 302 | 302 403 302 302
        /admin/oidc/project/{row}/do/lift/                     302 403 302 302 | 302 403 302 302
        /admin/oidc/project/{row}/do/rename/                   302 403 200 200 | 302 403 200 200
        /admin/oidc/project/{row}/do/suspend/                  302 403 200 200 | 302 403 200 200
        /admin/oidc/signingkey/do/publish/                     302 403 200 200 | 302 403 302 302
        /admin/oidc/signingkey/do/rotate/                      302 403 302 302 | 302 403 302 302
        """,
    ),
)

# The only tables, except those of sessions, that a GET may write to.
WRITES = {
    # Stores the random user handle of a person's first passkey.
    "/account/2fa/webauthn/add/": "accounts_account",
    "/account/2fa/webauthn/conditional/": "accounts_account",
    # Stores that the codes were shown.
    "/account/2fa/recovery-codes/": "mfa_authenticator",
    "/account/2fa/recovery-codes/download/": "mfa_authenticator",
    # Stores that the notice was read.
    "/console/notices/{notice}": "console_notice",
}

# URLs that only accept the GET of a response from the service, and refuse everything else (test_playground.py).
NO_HEAD = {"/console/playground/callback"}
