"""The page of an export, for people: titles, labels and values. The JSON document keeps names and codes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d\S*")
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")

# Title of each section, and its description. Sections that are not listed use their name as title.
_TITLES: dict[str, tuple[str, str]] = {
    "profile": ("Profile", "Apps that you allowed to see your profile get your name, email address and photo."),
    "addresses": ("Email addresses", ""),
    "address_changes": ("Changes of email address", "The changes that the old email address can still take back."),
    "sign_in_methods": (
        "Passkeys and two-step verification",
        "Their names and dates. The secrets themselves are never exported.",
    ),
    "sessions": ("Where you’re signed in", "Browsers in which you are signed in."),
    "recoveries": ("Account recoveries", "Started by the support team after you asked them, or by you at sign-in."),
    "security_activity": ("Security activity", "The events of your account, the oldest first."),
    "plan": ("Plan, families and organizations", ""),
    "mails": ("Emails to you", "Emails that were sent to you recently or wait. Their texts are in your mailbox."),
    "exports": ("Exports", "Earlier exports of your data."),
    "ids": ("Your ids in apps", "Each project has a different id for you, so that projects can't compare them."),
    "connected_apps": (
        "Apps",
        "The access that you allowed, and the access that you removed. Apps keep what they have already received.",
    ),
    "events_to_apps": (
        "What apps were told",
        "Messages about your account to apps that receive them. The latest ones are listed.",
    ),
    "projects": ("Your projects", "Projects that you own or work on."),
    "former_projects": ("Former projects", ""),
    "removed_projects": ("Memberships of projects that no longer exist", ""),
    "project_invitations": ("Invitations to projects", ""),
    "keys": ("API keys", "Their names and dates. The keys themselves are not stored."),
    "notices": ("Notices", "Notices about your projects, in the console and by mail."),
    "notice_settings": ("Notices that you chose", "Where you changed which notices you get."),
    "written_in_reviews": ("What you wrote in reviews", ""),
    "written_at_the_desk": ("Your internal review notes", "Only other reviewers can read them."),
    "reported_apps": ("Apps that you reported", "Only reviewers know that you reported them."),
    "console_activity": (
        "Audit trail",
        "What you did in the console and with your account. It is kept for security.",
    ),
}


# Labels of names in rows and dicts.
LABELS = {
    "about": "About",
    "accepted_at": "Accepted",
    "addons": "Add-ons",
    "answers": "Answers",
    "app": "App",
    "asked_at": "Requested",
    "at": "When",
    "browser": "Browser",
    "by_mail": "By mail",
    "by": "By",
    "can": "It can",
    "could": "It could, before you removed it",
    "created_at": "Created",
    "declined_at": "Declined",
    "deleted_at": "Deleted",
    "delivered_at": "Delivered",
    "due_at": "Due",
    "email": "Email address",
    "email_verified": "Email address verified",
    "ended_at": "Ended",
    "expires_at": "Expires",
    "families": "Families",
    "family_name": "Family name",
    "family_of": "Family of",
    "first_authorized_at": "First allowed",
    "from": "From",
    "given_name": "Given name",
    "has_password": "You have a password",
    "has_picture": "You have a photo",
    "history": "History",
    "in_console": "In the console",
    "invitations_received": "Invitations to you",
    "invitations_sent": "Invitations from you",
    "ip": "IP address",
    "joined_at": "Joined",
    "key": "Key",
    "kind": "Kind",
    "last_authorized_at": "Last used",
    "last_login": "Last sign-in",
    "last_used_address": "Last used from",
    "last_used_at": "Last used",
    "leaked_at": "Reported as leaked",
    "name": "Name",
    "organization": "Organization",
    "organizations": "Organizations",
    "owner": "Owner",
    "period_end": "Paid until",
    "permissions": "Permissions",
    "place": "Place",
    "plan_name": "Plan",
    "primary": "Main address",
    "project": "Project",
    "queued_at": "Written",
    "read_at": "Read",
    "read_only_until": "Readable until",
    "ready_at": "Ready",
    "reason": "Reason",
    "removed_at": "Removed",
    "revoked_at": "Revoked",
    "role": "Role",
    "roles": "Roles",
    "sent_at": "Sent",
    "since": "Since",
    "started_at": "Started",
    "state": "State",
    "status": "State",
    "sub": "Your id",
    "subject": "Subject",
    "subscription": "Your plan",
    "taken_over_at": "Taken over",
    "text": "Text",
    "time_zone": "Time zone",
    "title": "Title",
    "to": "To",
    "topic": "About",
    "trial_end": "Trial until",
    "until": "Until",
    "verified": "Verified",
    "what": "What",
    "withdrawn_at": "Withdrawn",
}
# Values that stand in the JSON document only, by section or by the name of a dict.
_FOR_PROGRAMS = {
    "sessions": ("user_agent",),
    "ids": ("project_id",),
    "connected_apps": ("scopes", "removed_scopes", "left_out", "scopes_outside_review"),
    "events_to_apps": ("event",),
    "projects": ("id",),
    "console_activity": ("action", "project"),
    "subscription": ("plan", "state"),
}
# Names of values that are codes, such as "changes_requested".
_CODES = frozenset({"by", "from", "kind", "permissions", "reason", "role", "roles", "state", "to"})
# Values of the document that people know by other words.
_WORDS = {
    ("by", "the person"): "You",
    ("by", "an operator"): "The support team",
    ("by", "the service itself"): "The service",
    ("kind", "TOTP Authenticator"): "Authenticator app",
    ("kind", "WebAuthn"): "Passkey",
}
_EMPTY: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Shown:
    """A value in the format of the page: a text, a time, a list of values, or facts."""

    text: str = ""
    at: datetime | None = None
    items: list["Shown"] = field(default_factory=list)
    facts: list[tuple[str, "Shown"]] = field(default_factory=list)


def label_of(name: str) -> str:
    """Return the label of a value; names of other services' sections have none, and are written as words."""
    return LABELS.get(name) or name.replace("_", " ").capitalize()


def title_of(name: str) -> str:
    return _TITLES.get(name, (label_of(name), ""))[0]


def heading_of(name: str) -> dict[str, str]:
    """Return the context of a section's heading."""
    return {"name": name, "title": title_of(name), "note": _TITLES.get(name, ("", ""))[1]}


def is_empty(section: str, content: Any) -> bool:
    """Return whether a section has nothing to read: a dict without values, or started rows without a first one."""
    if isinstance(content, dict):
        return not facts(section, content)
    first, _ = content
    return not first


def facts(section: str, content: dict[str, Any]) -> list[tuple[str, Shown]]:
    """Return the labels and values of a dict, without values that are empty or only for programs."""
    hidden = _FOR_PROGRAMS.get(section, ())
    return [
        (label_of(name), _shown(name, value))
        for name, value in content.items()
        if name not in hidden and value not in _EMPTY
    ]


def columns_of(section: str, rows: list[dict[str, Any]], *, has_all: bool) -> list[str]:
    """Return the columns of a section's table. If `rows` are all of its rows, empty columns are left out."""
    hidden = _FOR_PROGRAMS.get(section, ())
    return [
        name
        for name in (rows[0] if rows else ())
        if name not in hidden and not (has_all and all(row[name] in _EMPTY for row in rows))
    ]


def cells(rows: Iterable[dict[str, Any]], columns: list[str]) -> list[list[tuple[str, Shown]]]:
    """Return each row as labels and values of its columns; empty values are empty texts."""
    return [[(label_of(name), _shown(name, row.get(name))) for name in columns] for row in rows]


def _shown(name: str, value: Any) -> Shown:
    """Return a value of the JSON document in the format of the page."""
    if value in _EMPTY:
        return Shown()
    if isinstance(value, bool):
        return Shown("Yes" if value else "No")
    if isinstance(value, dict):
        return Shown(facts=facts(name, value))
    if isinstance(value, list):
        return Shown(items=[_shown(name, each) for each in value])
    text = _WORDS.get((name, value), str(value))
    if name in _CODES and _CODE.fullmatch(text):
        return Shown(text.replace("_", " ").capitalize())
    if _TIME.fullmatch(text):
        try:
            return Shown(at=datetime.fromisoformat(text))
        except ValueError:
            return Shown(text)
    return Shown(text)
