"""Signals by which floors above follow what becomes of a project."""

from django.dispatch import Signal

# Sent with `project` when one is deleted, and again before it is restored. Receivers on higher floors revoke the
# credentials they issued for it.
project_ended = Signal()

# Sent with `project`, `domain` and `change` (oidc/domains/results.py) when the proof of a domain was gained, or is
# missing or lost, or the domain was removed; in the transaction that has the project locked.
domain_changed = Signal()

# Sent with `request`, `account` and `stop` (oidc/stopped.py) when a signed-in person sees a page that ends a sign-in to
# an app. A receiver returns a DevelopersView if the person is one of the app's developers, otherwise None.
sign_in_stopped = Signal()

# Sent with `client`, `before` (its type) and `actor` when a client's type was changed, in that transaction. `actor` is
# None for an operator's file.
client_type_changed = Signal()

# Sent with `project` and `transferred` (True for a transfer of ownership) when somebody became another owner of a
# project, in that transaction.
owner_added = Signal()
