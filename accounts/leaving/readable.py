"""How an export reads: titles, and values as words, times and lists."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d\S*")

# Title of each section, and what it says of itself. One that is not listed has its name.
_TITLES: dict[str, tuple[str, str]] = {
    "profile": ("Profile", "Who you are here. Apps that you allowed to see it get your name, address and photo."),
    "addresses": ("Email addresses", ""),
    "address_changes": ("Changes of address", "Those that the old address can still take back."),
    "sign_in_methods": (
        "Passkeys and two-step verification",
        "Their names and dates. The secrets themselves are never exported.",
    ),
    "sessions": ("Sessions", "Browsers in which you are signed in."),
    "recoveries": ("Account recoveries", "Started by the team of the service, after you asked them."),
    "security_activity": ("Security activity", "What happened to your account, the oldest first."),
    "plan": ("Plan, families and organizations", ""),
    "mails": ("Mails to you", "What was sent to you of late, or waits to be. Their texts are in your mailbox."),
    "exports": ("Exports", "When you asked for your data before."),
    "ids": ("Your ids in apps", "Each project knows you by an id of its own, so that no two can compare theirs."),
    "connected_apps": ("Apps", "What you allowed, and what you took back."),
    "projects": ("Your projects", "Those that you build with others, or alone."),
    "former_projects": ("Former projects", ""),
    "removed_projects": ("Memberships of projects that no longer exist", ""),
    "project_invitations": ("Invitations to projects", ""),
    "keys": ("API keys", "Their names and dates. The keys themselves are known to nobody but you."),
    "written_in_reviews": ("What you wrote in reviews", ""),
    "written_at_the_desk": ("Your internal review notes", "Only other reviewers can read them."),
    "reported_apps": ("Apps that you reported", "Only the reviewers know that it was you."),
    "console_activity": (
        "Audit trail",
        "What you did in the console and with your account, as it is kept for safety's sake.",
    ),
}


@dataclass(frozen=True)
class Shown:
    """A value as the page shows it: a text, a time, a list of values, or facts."""

    text: str = ""
    at: datetime | None = None
    items: list["Shown"] = field(default_factory=list)
    facts: list[tuple[str, "Shown"]] = field(default_factory=list)


def label_of(name: str) -> str:
    return name.replace("_", " ").capitalize().replace("Ip", "IP")


def title_of(name: str) -> str:
    return _TITLES.get(name, (label_of(name), ""))[0]


def heading_of(name: str) -> dict[str, str]:
    """Return the context of a section's heading."""
    return {"name": name, "title": title_of(name), "note": _TITLES.get(name, ("", ""))[1]}


def facts(content: dict[str, Any]) -> list[tuple[str, Shown]]:
    return [(label_of(name), shown(value)) for name, value in content.items()]


def cells(rows: Iterable[dict[str, Any]], columns: list[str]) -> list[list[tuple[str, Shown]]]:
    """Return each row as its columns' labels and values."""
    return [[(label_of(name), shown(row.get(name))) for name in columns] for row in rows]


def shown(value: Any) -> Shown:
    """Return a value of the JSON document as the page shows it."""
    if value is None or value in ("", [], {}):
        return Shown("none")
    if isinstance(value, bool):
        return Shown("Yes" if value else "No")
    if isinstance(value, dict):
        return Shown(facts=facts(value))
    if isinstance(value, list):
        return Shown(items=[shown(each) for each in value])
    text = str(value)
    if _TIME.fullmatch(text):
        try:
            return Shown(at=datetime.fromisoformat(text))
        except ValueError:
            return Shown(text)
    return Shown(text)
