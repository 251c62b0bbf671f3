"""The lists in the admin's sidebar, and the lists that a row's page links to. The settings import them.

This module names models of every layer as the admin's URLs do (app_model), so it belongs to no layer itself.
"""

# Group, then title, model and icon of each list. A list is shown to people with the model's view permission.
SIDEBAR: list[tuple[str, list[tuple[str, str, str]]]] = [
    (
        "Review",
        [
            ("Review queue", "review_appreview", "rate_review"),
            ("Cases", "review_reviewcase", "flag"),
            ("Canned replies", "review_cannedreply", "quickreply"),
        ],
    ),
    (
        "People",
        [
            ("People", "accounts_account", "person"),
            ("Families", "accounts_family", "family_restroom"),
            ("Organizations", "accounts_organization", "corporate_fare"),
            ("Organization members", "accounts_organizationmember", "event_seat"),
            ("Invitations", "accounts_invitation", "outgoing_mail"),
        ],
    ),
    (
        "Plans",
        [
            ("Subscriptions", "accounts_subscription", "card_membership"),
            ("Plans", "accounts_plan", "sell"),
            ("Features", "accounts_feature", "checklist"),
        ],
    ),
    (
        "Projects & apps",
        [
            ("Projects", "oidc_project", "folder"),
            ("Apps", "oidc_client", "apps"),
            ("APIs", "oidc_api", "api"),
            ("Domains", "oidc_projectdomain", "domain"),
            ("Connections", "oidc_connection", "link"),
            ("Access tokens", "oidc_accesstoken", "token"),
            ("Refresh tokens", "oidc_refreshtoken", "autorenew"),
            ("Event receivers", "oidc_eventreceiver", "webhook"),
            ("Deliveries", "oidc_delivery", "send"),
        ],
    ),
    (
        "Keys",
        [
            ("API keys", "api_apikey", "key"),
            ("API credentials", "oidc_apicredential", "password"),
            ("Signing keys", "oidc_signingkey", "signature"),
        ],
    ),
    (
        "Audit",
        [
            ("Audit trail", "console_auditevent", "history"),
            ("Sign-in log", "console_signinevent", "login"),
            ("Request log", "api_requestlog", "http"),
            ("Emails", "accounts_outbox", "mail"),
            ("Periodic tasks", "operations_taskrun", "schedule"),
        ],
    ),
]

# In place of a foreign key: the list is searched for the row's `search_term`.
SEARCH = "q"
# For each model, the lists of objects that belong to a row: title, model, and that model's foreign key to the
# row, or SEARCH.
RELATED: dict[str, list[tuple[str, str, str]]] = {
    "accounts_account": [
        ("Projects", "oidc_project", SEARCH),
        ("Subscription", "accounts_subscription", "account"),
        ("Connections", "oidc_connection", "account"),
        ("API keys", "api_apikey", "owner"),
        ("Access tokens", "oidc_accesstoken", "user"),
    ],
    "accounts_family": [("Subscription", "accounts_subscription", "family")],
    "accounts_organization": [
        ("Members", "accounts_organizationmember", "organization"),
        ("Invitations", "accounts_invitation", "organization"),
        ("Subscription", "accounts_subscription", "organization"),
    ],
    "accounts_plan": [("Subscriptions", "accounts_subscription", "plan")],
    "oidc_project": [
        ("Cases", "review_reviewcase", "project"),
        ("Apps", "oidc_client", "project"),
        ("Domains", "oidc_projectdomain", "project"),
        ("API keys", "api_apikey", "project"),
        ("Request log", "api_requestlog", "project"),
    ],
    "oidc_connection": [("Deliveries", "oidc_delivery", "connection")],
    "oidc_eventreceiver": [("Deliveries", "oidc_delivery", "receiver")],
    "oidc_api": [("Credentials", "oidc_apicredential", "api")],
    "oidc_client": [
        ("Cases", "review_reviewcase", "client"),
        ("Connections", "oidc_connection", "client"),
        ("Access tokens", "oidc_accesstoken", "application"),
        ("Refresh tokens", "oidc_refreshtoken", "application"),
        ("Event receivers", "oidc_eventreceiver", "client"),
        ("Sign-in log", "console_signinevent", "client"),
    ],
}

# The list of audit events, which replaces Django's history of a row.
HISTORY = "console_auditevent"
