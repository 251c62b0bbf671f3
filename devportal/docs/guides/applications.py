"""The applications on the page of ready-made applications, with their settings for PKCE."""

from dataclasses import dataclass

TESTED, TRIED, READ = "tested", "tried", "read"


@dataclass(frozen=True)
class Application:
    """An application: the end of its redirect URL, its PKCE setting ("" if PKCE is on by default), and its state.

    `anchor` is the heading of its configuration on the page; `url_name` is a page about it.
    """

    name: str
    path: str
    pkce: str
    state: str
    anchor: str = ""
    url_name: str = ""


APPLICATIONS = (
    Application("Apache (mod_auth_openidc)", "/callback", "OIDCPKCEMethod S256", TESTED, url_name="docs_guide_apache"),
    Application("JupyterHub", "/hub/oauth_callback", "", TESTED, "jupyterhub"),
    Application("Matrix Synapse", "/_synapse/client/oidc/callback", "", TESTED, "synapse"),
    Application("Miniflux", "/oauth2/oidc/callback", "", TESTED, "miniflux"),
    Application("oauth2-proxy", "/oauth2/callback", "--code-challenge-method=S256", TESTED, "oauth2-proxy"),
    Application("pgAdmin", "/oauth2/authorize", "OAUTH2_CHALLENGE_METHOD", TESTED, "pgadmin"),
    Application("Keycloak as a broker", "/realms/REALM/broker/service/endpoint", "Use PKCE", TESTED, "keycloak"),
    Application("MeshCentral", "/auth-oidc-callback", "", TRIED, "meshcentral"),
    Application("Actual Budget", "/openid/callback", "", TRIED, "actual"),
    Application("Superset", "/oauth-authorized/service", "code_challenge_method", TRIED, "superset"),
    Application(
        "Paperless-ngx, Mailman", "/accounts/oidc/service/login/callback/", "OAUTH_PKCE_ENABLED", TRIED, "allauth"
    ),
    Application(
        "WordPress", "/wp-admin/admin-ajax.php?action=openid-connect-authorize", "the PKCE add-on", TRIED, "wordpress"
    ),
    Application("Weblate, NetBox, Nautobot", "/complete/oidc/", "SOCIAL_AUTH_OIDC_USE_PKCE", READ),
    Application("Apps with mozilla-django-oidc", "/oidc/callback/", "OIDC_USE_PKCE", READ),
    Application("Nextcloud", "/apps/user_oidc/code", "", READ, "nextcloud"),
    Application("Grafana", "/login/generic_oauth", "use_pkce", READ, "grafana"),
    Application("GitLab", "/users/auth/openid_connect/callback", "pkce", READ, "gitlab"),
    Application("Discourse", "/auth/oidc/callback", "openid_connect_use_pkce", READ),
    Application("Vaultwarden", "/identity/connect/oidc-signin", "SSO_PKCE", READ, "vaultwarden"),
    Application("BookStack", "/oidc/callback", "", READ),
    Application("Immich", "/auth/login", "", READ, "immich"),
)
