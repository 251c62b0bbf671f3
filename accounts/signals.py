"""Signals with which higher layers take part in exports, deletion and the home page of accounts."""

from django.dispatch import Signal

# Sent with `account`; a receiver returns {section name: data that JSON can hold, or an iterator of rows}.
exporting = Signal()
# Sent with `account` and `request`; a receiver returns {name: value} for the account's home page.
showing_home = Signal()
# Sent with `account`; a receiver returns the blockers of an account deletion, a list of
# `accounts.deletion.deleting.Blocker`.
blocking_deletion = Signal()

# Sent with `account` when a person is deactivated, has closed their account, or is about to be deleted.
# Receivers on higher layers revoke the credentials they issued.
access_ended = Signal()

# Sent without more; a receiver returns {slug: name} of apps that a plan can include.
listing_apps = Signal()

# Sent with `request`; a receiver returns {"name": …, "verified": bool} of the app that somebody is signing in to,
# None if there is none.
naming_app = Signal()
