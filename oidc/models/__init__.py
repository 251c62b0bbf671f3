from oidc.models.clients import Client, ClientSecret
from oidc.models.connections import Connection, Family
from oidc.models.keys import SigningKey
from oidc.models.projects import FormerMember, Project, ProjectInvitation, ProjectMember
from oidc.models.tokens import AccessToken, AuthorizationCode, IDToken, RefreshToken

__all__ = [
    "AccessToken",
    "AuthorizationCode",
    "Client",
    "ClientSecret",
    "Connection",
    "Family",
    "FormerMember",
    "IDToken",
    "Project",
    "ProjectInvitation",
    "ProjectMember",
    "RefreshToken",
    "SigningKey",
]
