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
# Sent with `account` when a person is deactivated or has closed their account, and when either is undone. It is sent
# once for each change, inside its transaction.
account_disabled = Signal()
account_enabled = Signal()

# Sent with `account`, `tags` and `kept` when browser sessions end, inside the transaction that ends them. `tags` are
# those of the sessions (accounts/sessions/browser_sessions.py); None means all sessions of the account except the one
# with the tag `kept`, which may be "". `account` is None if the tags belong to several people.
sessions_ended = Signal()

# Sent with `event`, a SecurityEvent, inside the transaction that stores it (accounts/activity/recording.py).
activity_recorded = Signal()

# Sent without arguments; a receiver returns {slug: name} of apps that a plan can include.
listing_apps = Signal()

# Sent with `request`; a receiver returns {"name": …, "verified": bool} of the app that someone is signing in to,
# None if there is none.
naming_app = Signal()

# Sent with `request` before its session is emptied for a sign-in that follows. A receiver that keeps something of the
# session returns a function, which is called with the new session.
emptying_session = Signal()
