"""URLs of the OAuth and OpenID Connect endpoints and their pages. The library's own URLs are not included."""

from django.urls import path, re_path

from oidc.views import account_chooser, authorize, connected_apps, discovery, health, logos, logout, step_up
from oidc.views.authorize import AuthorizeView, dismiss, resume
from oidc.views.token import RevokeEndpoint, TokenEndpoint, UserInfoEndpoint

urlpatterns = [
    # Two leading slashes are accepted: widely used clients append the path to the issuer, which ends in a slash.
    re_path(r"^/?\.well-known/openid-configuration(?P<rest>/.*)?$", discovery.configuration, name="discovery"),
    re_path(r"^/?\.well-known/oauth-authorization-server(?P<rest>/.*)?$", discovery.configuration, name="server"),
    path(".well-known/jwks", discovery.jwks, name="jwks"),
    path("health/live", health.live, name="health_live"),
    path("health/ready", health.ready, name="health_ready"),
    path("connect/authorize", AuthorizeView.as_view(), name="authorize"),
    path("connect/consent", authorize.ConsentView.as_view(), name="consent"),
    path("connect/step-up", step_up.StepUpView.as_view(), name="step_up"),
    path("connect/resume", resume, name="resume"),
    path("connect/dismiss", dismiss, name="dismiss_request"),
    path("connect/token", TokenEndpoint.as_view(), name="token"),
    path("connect/userinfo", UserInfoEndpoint.as_view(), name="userinfo"),
    path("connect/revoke", RevokeEndpoint.as_view(), name="revoke"),
    path("connect/logout", logout.logout, name="logout"),
    path("connect/logout/confirm", logout.confirm, name="logout_confirm"),
    path("connect/signed-out", logout.signed_out, name="signed_out"),
    path("logos/<str:client_id>/<slug:version>.webp", logos.logo, name="logo"),
    path("account/apps/", connected_apps.connected_apps, name="connected_apps"),
    path("account/apps/which-account", connected_apps.which_account, name="which_account"),
    path("account/apps/<int:connection_id>/remove", connected_apps.remove, name="connected_app_remove"),
    path("account/choose", account_chooser.choose, name="account_choose"),
    path("account/choose/photo", account_chooser.photo, name="account_choose_photo"),
    path("account/apps/<int:connection_id>/ask-again", connected_apps.ask_again, name="connected_app_ask_again"),
]
