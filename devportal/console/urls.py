"""URLs of the developer console."""

from collections.abc import Sequence

from django.urls import URLPattern, URLResolver, include, path

from devportal.console import activity, forms, jump, rotation
from devportal.console import domains as domain_views
from devportal.console import members as member_views
from devportal.console import people as people_views
from devportal.console import usage as usage_views
from devportal.console.analytics import views as analytics_views
from devportal.console.api_keys import views as api_key_views
from devportal.console.clients import secret_views, settings_views
from devportal.console.clients import views as client_views
from devportal.console.events import deliveries
from devportal.console.events import views as events_views
from devportal.console.logs import request_log, sign_in_log
from devportal.console.moved import CLIENT_MOVES, PROJECT_MOVES, moved_pages
from devportal.console.navigation import APP_NAME
from devportal.console.notices import views as notice_views
from devportal.console.playground import event_receiver_views, tester_views
from devportal.console.playground import views as playground_views
from devportal.console.projects import home_views
from devportal.console.projects import views as project_settings_views
from devportal.console.projects import views as project_views
from devportal.console.quick_start import quick_start
from devportal.console.rotation import KEY_PAGES, SECRET_PAGES

client_pages: list[URLPattern] = [
    path("", settings_views.client_settings, name="client_settings"),
    path("switch", settings_views.client_switch, name="client_switch"),
    path("type", settings_views.client_type, name="client_type"),
    path("delete", settings_views.client_delete, name="client_delete"),
    path("secrets/new", secret_views.client_secret_new, name="client_secret_new"),
    path("secrets/<int:secret_id>/rotate", rotation.rotate, {"pages": SECRET_PAGES}, name="client_secret_rotate"),
    path(
        "secrets/<int:secret_id>/expiry",
        rotation.change_expiry,
        {"pages": SECRET_PAGES},
        name="client_secret_expiry",
    ),
    path("secrets/<int:secret_id>/end", rotation.revoke, {"pages": SECRET_PAGES}, name="client_secret_end"),
    path("quick-start", quick_start, name="quick_start"),
    path("activity", sign_in_log.sign_ins, name="sign_ins"),
    path("activity/analytics", analytics_views.client_analytics, name="client_analytics"),
    path("activity/<str:entry_id>", sign_in_log.sign_in_detail, name="sign_in_detail"),
    path("events", events_views.client_events, name="client_events"),
    path("events/<str:channel>/test", events_views.events_test, name="events_test"),
    path("events/<str:channel>/resume", events_views.events_resume, name="events_resume"),
    path("events/<str:channel>/retry", events_views.events_retry, name="events_retry"),
    path("deliveries", deliveries.deliveries, name="deliveries"),
    path("deliveries/<str:delivery_id>", deliveries.delivery_detail, name="delivery"),
    path("deliveries/<str:delivery_id>/again", deliveries.delivery_again, name="delivery_again"),
    path("playground", playground_views.playground, name="playground"),
    path("playground/tester", tester_views.client_tester, name="client_tester"),
    path("playground/address", playground_views.playground_address, name="playground_address"),
    path("playground/begin", playground_views.playground_begin, name="playground_begin"),
    path("playground/exchange", playground_views.playground_exchange, name="playground_exchange"),
    path("playground/refresh", playground_views.playground_refresh, name="playground_refresh"),
    path("playground/events", event_receiver_views.playground_events, name="playground_events"),
    path("playground/end", playground_views.playground_end, name="playground_end"),
]

project_pages: list[URLPattern] = [
    path("", project_views.project, name="project"),
    path("settings", project_settings_views.project_settings, name="project_settings"),
    path("transfer", project_settings_views.project_transfer, name="project_transfer"),
    path("leave", project_settings_views.project_leave, name="project_leave"),
    path("delete", project_settings_views.project_delete, name="project_delete"),
    path("restore", project_settings_views.project_restore, name="project_restore"),
    path("team", member_views.members, name="members"),
    path("team/activity", activity.activity, name="activity"),
    path("team/<int:member_id>", member_views.member, name="member"),
    path("team/<int:member_id>/remove", member_views.member_remove, name="member_remove"),
    path("invitations/<int:invitation_id>/renew", member_views.invitation_renew, name="invitation_renew"),
    path("invitations/<int:invitation_id>/withdraw", member_views.invitation_withdraw, name="invitation_withdraw"),
    path("domains", domain_views.domains, name="domains"),
    path("domains/<int:domain_id>/check", domain_views.domain_check, name="domain_check"),
    path("domains/<int:domain_id>/remove", domain_views.domain_remove, name="domain_remove"),
    path("notices", notice_views.notice_settings, name="notice_settings"),
    path("analytics", usage_views.usage, name="usage"),
    path("analytics/sign-ins", analytics_views.project_analytics, name="project_analytics"),
    path("analytics/people", people_views.people, name="people"),
    path("logs", sign_in_log.project_sign_ins, name="project_sign_ins"),
    path("logs/requests", request_log.requests, name="requests"),
    path("logs/requests/<str:entry_id>", request_log.request_detail, name="request_detail"),
    path("logs/deliveries", deliveries.project_deliveries, name="project_deliveries"),
    path("keys", api_key_views.keys, name="keys"),
    path("keys/new", api_key_views.key_new, name="key_new"),
    path("keys/<str:key_id>/rotate", rotation.rotate, {"pages": KEY_PAGES}, name="key_rotate"),
    path("keys/<str:key_id>/expiry", rotation.change_expiry, {"pages": KEY_PAGES}, name="key_expiry"),
    path("keys/<str:key_id>/revoke", rotation.revoke, {"pages": KEY_PAGES}, name="key_revoke"),
    path("clients", client_views.clients, name="clients"),
    path("clients/new", client_views.client_new, name="client_new"),
]

pages: list[URLPattern | URLResolver] = [
    path("", home_views.home, name="home"),
    path("jump", jump.jump_page, name="jump"),
    path("notices", notice_views.notices, name="notices"),
    path("notices/read", notice_views.notices_read, name="notices_read"),
    path("notices/<int:notice_id>", notice_views.notice, name="notice"),
    path("invitations/<int:invitation_id>", home_views.invitation, name="invitation"),
    path("check/name", forms.check_name, name="check_name"),
    path("check/addresses", forms.check_addresses, name="check_addresses"),
    path("projects/new", project_views.project_new, name="project_new"),
    path("playground/callback", playground_views.playground_callback, name="playground_callback"),
]


def console_urls(
    more_project_pages: Sequence[URLPattern] = (), more_client_pages: Sequence[URLPattern] = ()
) -> tuple[list[URLPattern | URLResolver], str]:
    """Return the URLs of the console for `include`, with pages of projects and of clients from higher layers."""
    of_client: list[URLPattern | URLResolver] = [
        *client_pages,
        *more_client_pages,
        *moved_pages(CLIENT_MOVES, "client"),
    ]
    of_project: list[URLPattern | URLResolver] = [
        *project_pages,
        *more_project_pages,
        *moved_pages(PROJECT_MOVES, "project"),
    ]
    of_project.append(path("clients/<str:client_id>/", include(of_client)))
    return [*pages, path("p/<slug:project_id>/", include(of_project))], APP_NAME
