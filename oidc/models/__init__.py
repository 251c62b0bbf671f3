from oidc.models.apis import Api, ApiCredential, ApiRule, ApiScope
from oidc.models.clients import Client, ClientSecret
from oidc.models.domains import AppPage, AppSlug, ProjectDomain
from oidc.models.events import Delivery, EventReceiver
from oidc.models.projects import (
    Connection,
    FormerMember,
    MemberOfRemovedProject,
    Project,
    ProjectInvitation,
    ProjectMember,
    TakenPlace,
)
from oidc.models.tokens import AccessToken, AuthorizationCode, IDToken, RefreshToken, SigningKey, TokenFamily

__all__ = [
    "AccessToken",
    "Api",
    "ApiCredential",
    "ApiRule",
    "ApiScope",
    "AppPage",
    "AppSlug",
    "AuthorizationCode",
    "Client",
    "ClientSecret",
    "Connection",
    "Delivery",
    "EventReceiver",
    "FormerMember",
    "IDToken",
    "MemberOfRemovedProject",
    "Project",
    "ProjectDomain",
    "ProjectInvitation",
    "ProjectMember",
    "RefreshToken",
    "SigningKey",
    "TakenPlace",
    "TokenFamily",
]
