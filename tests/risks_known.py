"""What goes past a safeguard, where, how often, and why it is safe there; tests/test_risks.py compares.

The name of a file may be a pattern; None is for any number of times. A link is listed with the variable that is its
whole address: where that comes from is what its reason says, for `javascript:` is an address too.
"""

KNOWN: dict[tuple[str, str], tuple[int | None, str]] = {
    # Output that is not escaped
    ("templates/mfa/recovery_codes/download.txt", "autoescape off"): (1, "A plain text, sent as text/plain."),
    ("templates/snippets/*.txt", "autoescape off"): (
        None,
        "Source code; its values are finished literals (console/snippets.py), and the page that shows it escapes it.",
    ),
    ("devportal/docs/rendering.py", "mark_safe"): (None, "Pygments escapes the code that it colours."),
    ("devportal/docs/templatetags/docs.py", "mark_safe"): (None, "Parts of what the template has rendered."),
    ("core/http/template_tags.py", "mark_safe"): (
        None,
        "Icons of a package with attributes of this project, and text that was escaped before.",
    ),
    ("core/http/template_tags.py", "SafeString"): (None, "The same, as its type."),
    ("core/http/template_tags.py", "import xml.etree"): (1, "Reads files of the package lucide alone."),
    ("static/js/jump.js", "innerHTML"): (1, "What the service rendered, from its own address."),
    ("devportal/console/charts.py", "SafeString"): (
        1,
        "The XML serializer escapes each text and attribute.",
    ),
    ("devportal/console/charts.py", "import xml.etree.ElementTree"): (1, "Writes XML; nothing is read."),
    #
    # Statements that are put together
    ("oidc/tokens/store.py", "execute"): (
        3,
        "Names of tables and columns come from the models; values are parameters.",
    ),
    ("devportal/operations/management/commands/migrate.py", "execute"): (
        5,
        "Names of settings and numbers of our own.",
    ),
    ("core/database/schema_changes.py", "execute"): (4, "A statement without values."),
    ("core/database/partitions.py", "execute"): (15, "Names of our own tables; days, as partitions.literal."),
    ("core/database/postgres/replica.py", "execute"): (1, "A statement without values."),
    ("core/database/postgres/statements.py", "execute"): (3, "What was sent is waited for; values are parameters."),
    ("oidc/tokens/expiry.py", "execute"): (1, "The name of a model's table; keys are parameters."),
    ("api/usage_counts.py", "execute"): (1, "Names of tables and columns come from the models; values are parameters."),
    ("devportal/console/analytics/store.py", "execute"): (1, "Names of our own tables; values are parameters."),
    ("core/database/prepared_queries.py", "execute"): (
        1,
        "What Django compiled from a queryset; values are parameters.",
    ),
    ("core/limits/redis.py", "eval"): (
        3,
        "Lua scripts of ours, written out beside them, run by Redis.",
    ),
    ("core/limits/store.py", "eval"): (1, "A Lua script of ours, written out beside it, run by Redis."),
    #
    # Forms without a token against forgery: what they do needs no cookie, or asks again before it does anything
    ("api/leak_report_views.py", "csrf_exempt"): (1, "A program signs its body; no cookie is read."),
    ("accounts/views/billing_webhook.py", "csrf_exempt"): (1, "A program signs its body; no cookie is read."),
    ("oidc/views/token.py", "csrf_exempt"): (2, "Token, revocation and userinfo read no cookie."),
    ("api/introspection_views.py", "csrf_exempt"): (1, "The server of an API sends its credential; no cookie is read."),
    ("api/forward_auth_views.py", "csrf_exempt"): (1, "A proxy asks, with the caller's credential; no cookie is read."),
    ("oidc/views/authorize.py", "csrf_exempt"): (1, "Apps may post here; the answer is a 303 to the GET."),
    ("oidc/views/logout.py", "csrf_exempt"): (1, "Apps may post here; the answer is a 303 to the GET, which asks."),
    #
    # Redirects to a value
    ("devportal/console/rotation.py", "redirect to a value"): (1, "A route: credential_kinds.py reverses it."),
    ("devportal/console/jump.py", "redirect to a value"): (1, "A route, which the module reverses."),
    ("oidc/views/pages.py", "redirect to a value"): (
        2,
        "A route of ours with the query that came (see_other); the redirect URL, which oidc/authorization/checks.py "
        "has found among those registered for the client, character for character.",
    ),
    ("oidc/views/logout.py", "redirect to a value"): (1, "Registered for the client that the hint proves."),
    ("oidc/views/authorize.py", "redirect to a value"): (
        7,
        "Our sign-in page, our account chooser, our endpoint with a kept query, the page of a named request, or `next` "
        "if allauth finds it our own.",
    ),
    ("oidc/views/account_chooser.py", "redirect to a value"): (
        5,
        "Our sign-in page, this page, our endpoint with a kept query, or a page of ours, from reverse().",
    ),
    ("oidc/views/step_up.py", "redirect to a value"): (2, "Our endpoint, with a kept query."),
    ("accounts/views/activity.py", "redirect to a value"): (1, "The list of steps, from reverse()."),
    ("accounts/views/mailbox.py", "redirect to a value"): (
        2,
        "A route of ours, kept in the session; `next` in it is checked by the page it leads to.",
    ),
    ("accounts/views/data_and_deletion.py", "redirect to a value"): (1, "A page of reauthentication, from reverse()."),
    ("accounts/views/factors.py", "redirect to a value"): (
        5,
        "Pages of reauthentication, from reverse() or this page's path; allauth checks `next` when it leads on. After "
        "a sign-up, where allauth leads: our own path.",
    ),
    ("accounts/views/account.py", "redirect to a value"): (1, "`next` if allauth finds it our own, or a route."),
    ("core/http/host_header.py", "redirect to a value"): (1, "The admin, by the settings."),
    ("core/admin/site.py", "redirect to a value"): (
        3,
        "The admin's index and the page of the second factor, from reverse(); the password page, on AUTH_URL.",
    ),
    ("core/admin/model_admin.py", "redirect to a value"): (4, "Pages of the admin, from reverse()."),
    ("devportal/console/members.py", "redirect to a value"): (1, "This page; its path begins with /console/."),
    ("devportal/console/projects/views.py", "redirect to a value"): (2, "This page, under /console/."),
    ("examples/web_app.py", "redirect to a value"): (2, "Built on the provider's address from the environment."),
    ("devportal/review/admin/other_pages.py", "redirect to a value"): (1, "The queue, from reverse()."),
    ("devportal/review/views.py", "redirect to a value"): (3, "Pages of the console, from reverse()."),
    #
    # Links: what their makers wrote
    ("templates/review/app_public_page.html", "link {{ client.*_url }}"): (
        3,
        "oidc.clients.branding: https; the page is one of reviewed apps only",
    ),
    ("templates/review/appeal.html", "link {{ back }}"): (1, "A page of the console, from reverse()."),
    ("templates/oidc/partials/app_contact.html", "link {{ client.home_page_url }}"): (
        1,
        "oidc.clients.branding: https; a link for reviewed apps only",
    ),
    ("templates/oidc/partials/app_contact.html", "link {{ client.privacy_policy_url }}"): (
        1,
        "oidc.clients.branding: https",
    ),
    ("templates/oidc/partials/app_contact.html", "link {{ client.terms_url }}"): (1, "The same."),
    ("templates/oidc/partials/way_back.html", "link {{ client.home_page_url }}"): (
        1,
        "As in app_contact.html: of reviewed apps only",
    ),
    ("templates/admin/review/leave.html", "link {{ destination.address }}"): (
        1,
        "evidence.addresses: one of the submission's, of the web; the page is there to lead out, and says so",
    ),
    ("templates/admin/review/partials/leaving_link.html", "link {{ line.url }}"): (1, "Pages of the admin."),
    ("templates/admin/review/partials/evidence.html", "link {{ evidence.check_again_url }}"): (1, "The same."),
    ("templates/mfa/totp/activate_form.html", "link {{ totp_url }}"): (1, "allauth: otpauth://, its parts quoted."),
    ("templates/mail/*.html", "link {{ site }}"): (None, "AUTH_URL, a setting: http or https."),
    ("templates/mail/*.html", "link {{ link }}"): (
        None,
        "A route below AUTH_URL or BASE_URL, settings: http or https.",
    ),
    ("templates/mail/base.html", "link {{ help_url }}"): (1, "A setting of the operator."),
    ("templates/accounts/plan.html", "link {{ plans_url }}"): (1, "The same."),
    ("templates/account/snippets/terms.html", "link {{ privacy_url }}"): (2, "The same."),
    ("templates/account/snippets/terms.html", "link {{ terms_url }}"): (2, "The same."),
    ("templates/partials/service_links.html", "link {{ privacy_url }}"): (1, "The same."),
    ("templates/partials/service_links.html", "link {{ terms_url }}"): (1, "The same."),
    ("templates/partials/service_links.html", "link {{ help_url }}"): (1, "The same."),
    ("templates/partials/ask_for_help.html", "link {{ help_url }}"): (1, "The same."),
    ("static/js/passkey-autofill.js", "postMessage"): (
        1,
        "A BroadcastChannel: tabs of this origin alone, and no secret.",
    ),
    ("templates/mail/base.html", "inline style"): (2, "A mail has no other place for it; it is no page."),
    ("templates/oidc/form_post.html", "link {{ action }}"): (1, "The client's registered redirect URL; http or https."),
    #
    # The page of an export, which is opened from a disk: no policy of ours reaches it
    ("templates/export/begin.html", "inline style"): (1, "A file that stands alone; its values are escaped as text."),
    ("templates/export/begin.html", "link {{ photo }}"): (1, "accounts.data_export.archive: the file beside it."),
    #
    # Links: what allauth or our views made with reverse()
    ("templates/account/*.html", "link {{ action_url }}"): (None, "allauth: a route."),
    ("templates/account/*.html", "link {{ login_url }}"): (None, "allauth: a route, with `next` if that is our own."),
    ("templates/account/*.html", "link {{ signup_url }}"): (None, "allauth: a route, with `next` if that is our own."),
    ("templates/account/login.html", "link {{ reset_url }}"): (2, "A route, with `next` if that is our own."),
    ("templates/mfa/authenticate.html", "link {{ action_url }}"): (1, "allauth: a route."),
    ("templates/allauth/elements/*.html", "link {{ attrs.href }}"): (None, "What templates here pass: routes."),
    ("templates/allauth/elements/form.html", "link {{ attrs.action }}"): (1, "What templates here pass: routes."),
    ("templates/allauth/elements/img.html", "link {{ attrs.src }}"): (1, "The QR code of an authenticator app: data:."),
    ("templates/partials/field.html", "link {{ reset_url }}"): (1, "The sign-in page passes a route."),
    ("templates/partials/confirm_buttons.html", "link {{ keep_url }}"): (1, "What templates here pass: routes."),
    ("templates/partials/tile.html", "link {{ app.logo_url }}"): (
        1,
        "oidc.clients.branding: a route of a reviewed app.",
    ),
    ("templates/oidc/partials/use_another_account.html", "link {{ choose_url }}"): (
        1,
        "oidc.authorization.interactions: a route.",
    ),
    ("templates/layouts/manage.html", "link {{ waiting_app.resume_url }}"): (
        1,
        "oidc.authorization.interactions: a route.",
    ),
    ("templates/403_csrf.html", "link {{ following }}"): (1, "accounts.views.account: `next` if it is our own."),
    ("templates/403_csrf.html", "link {{ again }}"): (1, "accounts.views.account: the path of a sign-in page."),
    ("templates/400_host.html", "link {{ auth_url }}"): (1, "AUTH_URL, of the settings."),
    ("templates/admin/*.html", "link {{ url }}"): (None, "Pages of the admin, from reverse()."),
    ("templates/admin/index.html", "link {{ card.url }}"): (1, "console.operations.overview: routes of the admin."),
    ("templates/admin/index.html", "link {{ item.link }}"): (1, "The sidebar of core.admin.theme: routes."),
    ("templates/admin/older_newer.html", "link {{ cl.*_url }}"): (3, "A query on this page, beginning with `?`."),
    ("templates/admin/accounts/subscription_change.html", "link {{ step_url }}"): (2, "A page of the admin."),
    ("templates/admin/review/partials/review_head.html", "link {{ preview_url }}"): (1, "A page of the console."),
    ("templates/admin/review/partials/live_app.html", "link {{ live_logo }}"): (1, "A path of the admin's own."),
    ("templates/admin/review/partials/review_difference.html", "link {{ row.logos.* }}"): (
        2,
        "Logos of the review: a route.",
    ),
    ("templates/admin/review/partials/review_submission.html", "link {{ row.logo }}"): (1, "The same."),
    ("templates/admin/review/partials/review_notes.html", "link {{ note.path }}"): (1, "An act of the admin."),
    ("templates/admin/review/partials/review_steps.html", "link {{ step.path }}"): (1, "The same."),
    ("templates/admin/review/partials/review_decide.html", "link {{ step.path }}"): (1, "The same."),
    ("templates/admin/review/partials/review_at_once.html", "link {{ step.path }}"): (1, "The same."),
    ("templates/admin/review/case.html", "link {{ step.path }}"): (1, "The same."),
    ("templates/admin/review/*_pages.html", "link {{ cl.*_url }}"): (
        None,
        "A query on this page, beginning with `?`.",
    ),
    ("templates/admin/review/lists.html", "link {{ *.url }}"): (3, "The same."),
    ("templates/review/partials/branding_*.html", "link {{ logo }}"): (None, "console.reviews.logos: a route."),
    ("templates/console/partials/checklist.html", "link {{ step.url }}"): (1, "console.checklist: routes."),
    ("templates/review/partials/review_checklist.html", "link {{ href }}"): (1, "console.reviews.summary: routes."),
    ("templates/review/partials/review_errors.html", "link {{ line.href }}"): (1, "The same."),
    ("templates/console/partials/log_toolbar.html", "link {{ request.path }}"): (1, "Begins with /console/."),
    ("templates/console/partials/log_toolbar.html", "link {{ *.link }}"): (
        2,
        "A query on this page, beginning with `?`.",
    ),
    ("templates/console/partials/log_fix.html", "link {{ fix.url }}"): (1, "console.fixes: routes."),
    ("templates/console/partials/log_error.html", "link {{ error.url }}"): (1, "The same."),
    ("templates/layouts/log_entry.html", "link {{ log_url }}"): (1, "The same, with a query."),
    ("templates/console/log_missing.html", "link {{ log_url }}"): (1, "The same, with a query."),
    ("templates/console/requests.html", "link {{ query }}"): (1, "A query on this page, beginning with `?`."),
    ("templates/console/sign_ins.html", "link {{ query }}"): (1, "The same."),
    ("templates/console/partials/pages.html", "link {{ page.*er }}"): (2, "A query on this page."),
    ("templates/console/partials/usage_table.html", "link {{ line.narrow }}"): (1, "A query on this page."),
    ("templates/console/partials/time_tabs.html", "link {{ range.address }}"): (1, "A query on this page."),
    ("templates/console/partials/losses.html", "link {{ address }}"): (1, "console.logs.links: routes."),
    ("templates/console/partials/funnel_table.html", "link {{ address }}"): (1, "The same."),
    ("templates/console/partials/chart.html", "link {{ cell.url }}"): (1, "The same."),
    ("templates/console/partials/usage_table.html", "link {{ line.log }}"): (2, "The same."),
    ("templates/console/usage.html", "link {{ report.total.log }}"): (1, "The same."),
    ("templates/console/partials/project_figures.html", "link {{ overview.errors_url }}"): (1, "The same."),
    ("templates/console/partials/warnings.html", "link {{ warning.url }}"): (1, "The same."),
    ("templates/console/partials/sign_in_report.html", "link {{ re*_url }}"): (2, "The same."),
    ("templates/console/project_analytics.html", "link {{ links.* }}"): (3, "The same."),
    ("templates/console/partials/analytics_by_api.html", "link {{ row.*_url }}"): (2, "The same."),
    ("templates/console/partials/analytics_by_api.html", "link {{ csv_url }}"): (1, "A route of ours."),
    ("templates/console/usage.html", "link {{ chip.without }}"): (1, "A query on this page."),
    ("templates/console/usage.html", "link {{ range.address }}"): (1, "A query on this page."),
    ("templates/console/playground.html", "link {{ run.url }}"): (1, "The service's own authorization endpoint."),
    ("templates/console/playground.html", "link {{ api_docs }}"): (1, "A route: docs/pages.py."),
    ("templates/console/client_permissions.html", "link {{ section.docs_url }}"): (1, "A route: docs/pages.py."),
    ("templates/console/secret_once.html", "link {{ panel.done_url }}"): (1, "Views pass routes."),
    ("templates/405.html", "link {{ back }}"): (2, "core/http/wrong_method.py: a path of this service."),
    ("templates/console/client_tester.html", "link {{ fix.url }}"): (1, "console.fixes: routes."),
    ("templates/console/partials/client_nav.html", "link {{ entry.url }}"): (1, "console.navigation: routes."),
    ("templates/console/partials/project_nav.html", "link {{ entry.url }}"): (1, "The same."),
    ("templates/console/credential_*.html", "link {{ credential.*_url }}"): (4, "console.credential_kinds: routes."),
    ("templates/console/jump.html", "link {{ target.address }}"): (1, "console.jump: routes."),
    ("templates/console/partials/jump_options.html", "link {{ target.address }}"): (1, "The same."),
    ("templates/console/partials/key_form.html", "link {{ cancel }}"): (1, "A route of ours."),
    ("templates/console/partials/project_form.html", "link {{ cancel }}"): (1, "A route of ours."),
    ("templates/docs/authorization.html", "link {{ group.address }}"): (1, "A route: docs/pages.py."),
    ("templates/docs/apis.html", "link {{ address }}"): (1, "A route: docs/pages.py."),
    ("templates/docs/api.html", "link {{ api.documentation_url }}"): (1, "Operators declare it; a URL with https."),
    ("templates/docs/api.html", "link {{ api.openapi_url }}"): (2, "The same."),
    ("templates/docs/article.html", "link {{ page.markdown_address }}"): (1, "A route: docs/pages.py."),
    ("templates/docs/article.html", "link {{ before.address }}"): (1, "A route: docs/pages.py."),
    ("templates/docs/article.html", "link {{ after.address }}"): (1, "A route: docs/pages.py."),
    ("templates/docs/guides/terminal.html", "link {{ reader.values.end_session_endpoint }}"): (1, "From AUTH_URL."),
    ("templates/docs/guides/base.html", "link {{ url }}"): (1, "devportal.docs.guides.registry: constants with https."),
    ("templates/docs/search.html", "link {{ hit.section.address }}"): (1, "A route, with the anchor of a heading."),
    ("templates/docs/try_it.html", "link {{ outcome.log_url }}"): (1, "A route, with a request id in its query."),
    ("templates/docs/try_api.html", "link {{ other.address }}"): (1, "A query on this page."),
    ("templates/docs/try_api.html", "link {{ address }}"): (2, "A route: docs/pages.py."),
    ("templates/docs/try_api.html", "link {{ api.documentation_url }}"): (1, "Operators declare it; a URL with https."),
    ("templates/layouts/docs.html", "link {{ page.markdown_address }}"): (1, "A route: docs/pages.py."),
    ("templates/oidc/partials/for_developers.html", "link {{ address }}"): (1, "console/failed_sign_ins.py: routes."),
    ("templates/oidc/partials/for_developers.html", "link {{ docs_url }}"): (2, "A setting's path, with an anchor."),
    #
    # Forms
    ("templates/oidc/form_post.html", "form without a token"): (1, "It goes to the app, which must not learn one."),
    ("templates/allauth/elements/form.html", "form without a token"): (
        1,
        "Each template that uses the element puts the token into its body; a POST without one is refused "
        "(tests/security/test_crawl.py).",
    ),
}
