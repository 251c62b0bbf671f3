"""Signals by which floors above take part in what becomes of a person."""

from django.dispatch import Signal

# `account`; a receiver returns {section name: data that JSON can hold}.
exporting = Signal()
# `account`; a receiver returns sentences that say what has to be done before the account can go.
blocking_deletion = Signal()

# Sent when a person may no longer use anything: `account` (deactivated, about to be deleted).
# Floors above end what they gave out.
access_ended = Signal()
