"""Admin pages of the audit trail and the sign-in log, both read-only."""

from django.conf import settings
from django.contrib import admin
from django.db.models import Q

from accounts.models import Account
from devportal.console.models import AuditEvent, SignInEvent
from devportal.lib.admin.model_admin import ReadOnlyModelAdmin
from oidc.clients.lookup import find_client


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyModelAdmin[AuditEvent]):
    """Audit events: actor, IP address, action, values before and after."""

    list_display = ("at", "action", "actor_email", "project", "target", "address", "request_id")
    search_help_text = "A whole e-mail address, project, client id, account:…, or request id"
    link_filters = ("actor",)

    def search_filter(self, term: str) -> Q:
        if "@" in term:
            # The key first: a condition across two tables would read the whole trail.
            people = list(Account.objects.filter(email=term.lower()).values_list("pk", flat=True))
            return Q(actor__in=people) | Q(person__in=people) | Q(target=term.lower())
        return Q(project=term) if term.startswith("prj_") else Q(target=term) | Q(request_id=term)

    @admin.display(description="IP address")
    def address(self, event: AuditEvent) -> str:
        return event.ip or "-"


@admin.register(SignInEvent)
class SignInEventAdmin(ReadOnlyModelAdmin[SignInEvent]):
    """Steps of sign-ins to clients, with their outcomes."""

    list_display = ("at", "client", "endpoint", "outcome", "error", "reason", "request_id")
    list_select_related = ("client",)
    search_help_text = "A whole client id, or a whole request id"
    link_filters = ("client",)

    def search_filter(self, term: str) -> Q:
        # The client's key first, here too.
        return Q(client=find_client(term) or 0) if term.startswith(settings.CLIENT_ID_PREFIX) else Q(request_id=term)
