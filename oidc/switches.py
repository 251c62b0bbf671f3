"""Turning clients off and on: it counts everywhere within 30 seconds (specification 3)."""

from django.db import transaction

from accounts.models import Account
from devportal.lib.audit import Event, report
from oidc.models import Client


@transaction.atomic
def turn_client(client: Client, enabled: bool, actor: Account, reason: str = "") -> bool:
    """Turn a client on or off; return whether that changed anything."""
    changed = Client.objects.filter(pk=client.pk, enabled=not enabled).update(enabled=enabled)
    if changed:
        client.enabled = enabled
        action = "client.turned_on" if enabled else "client.turned_off"
        details = {"reason": reason} if reason else {}
        before, after = {"enabled": not enabled}, {"enabled": enabled}
        report(Event(action, actor.pk, client.project.public_id, client.client_id, details, before, after))
    return bool(changed)
