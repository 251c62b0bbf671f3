"""Signals by which layers above take part in what becomes of a person."""

from django.dispatch import Signal

# Sent with `account`; a receiver returns {section name: data that JSON can hold, or an iterator of rows}.
exporting = Signal()
# Sent with `account`; a receiver returns {name: value} for the page of the account's home.
showing_home = Signal()
# Sent with `account`; a receiver returns what has to be done before the account can be deleted, as a list of
# `accounts.deletion.Blocker`.
blocking_deletion = Signal()

# Sent with `account` when a person is deactivated, has closed their account, or is about to be deleted.
# Receivers on higher layers revoke the credentials they issued.
access_ended = Signal()

# Sent with `request`; a receiver returns {"name": …, "verified": bool} of the app to which somebody signs in there,
# None if there is none.
naming_app = Signal()
