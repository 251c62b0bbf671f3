"""The ZIP of a data export: a page to read, the same data as JSON, and the photo (docs/accounts.md#export)."""

import io
import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any, TextIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from django.conf import settings
from django.template.loader import render_to_string

from accounts.data_export import contents
from accounts.models import Account
from core import clock
from core.storage import stored_files

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d\S*")

# Title of each section, and its description. Sections that are not listed use their name as title.
_TITLES: dict[str, tuple[str, str]] = {
    "profile": ("Profile", "Apps that you allowed to see your profile get your name, email address and photo."),
    "addresses": ("Email addresses", ""),
    "address_changes": ("Changes of email address", "The changes that the old email address can still take back."),
    "sign_in_methods": (
        "Passkeys and two-step verification",
        "Their names and dates. The secrets themselves are never exported.",
    ),
    "sessions": ("Sessions", "Browsers in which you are signed in."),
    "recoveries": ("Account recoveries", "Started by the support team, after you asked them."),
    "security_activity": ("Security activity", "The events of your account, the oldest first."),
    "plan": ("Plan, families and organizations", ""),
    "mails": ("Mails to you", "Mails that were sent to you recently or are waiting. Their texts are in your mailbox."),
    "exports": ("Exports", "Earlier exports of your data."),
    "ids": ("Your ids in apps", "Each project has a different id for you, so that projects can't compare them."),
    "connected_apps": ("Apps", "The access that you allowed, and the access that you removed."),
    "projects": ("Your projects", "Projects that you own or work on."),
    "former_projects": ("Former projects", ""),
    "removed_projects": ("Memberships of projects that no longer exist", ""),
    "project_invitations": ("Invitations to projects", ""),
    "keys": ("API keys", "Their names and dates. The keys themselves are not stored."),
    "written_in_reviews": ("What you wrote in reviews", ""),
    "written_at_the_desk": ("Your internal review notes", "Only other reviewers can read them."),
    "reported_apps": ("Apps that you reported", "Only reviewers know that you reported them."),
    "console_activity": (
        "Audit trail",
        "What you did in the console and with your account. It is kept for security.",
    ),
}


@dataclass(frozen=True)
class Shown:
    """A value in the format of the page: a text, a time, a list of values, or facts."""

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
    """Return each row as labels and values of its columns."""
    return [[(label_of(name), shown(row.get(name))) for name in columns] for row in rows]


def shown(value: Any) -> Shown:
    """Return a value of the JSON document in the format of the page."""
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


# Page and JSON are written in parallel from one reading of the data, a few rows at a time.

PAGE, DOCUMENT, PHOTO = "your-data.html", "your-data.json", "photo.webp"
ROWS_AT_ONCE = 200


class TakesLonger(Exception):
    """An export is not finished within the time that its caller has."""


def write_archive(account: Account, target: IO[bytes], *, until: float | None = None) -> None:
    """Write the person's export to `target`. `until` is a time of the monotonic clock.

    Raises TakesLonger, StoreUnavailable.
    """
    with (
        TemporaryFile() as page_bytes,
        TemporaryFile() as document_bytes,
        ZipFile(target, "w", ZIP_DEFLATED) as archive,
    ):
        has_photo = _add_photo(account, archive)
        page, document = (io.TextIOWrapper(file, "utf-8", "replace") for file in (page_bytes, document_bytes))
        _write_both(account, page, document, has_photo=has_photo, until=until)
        for name, text in ((PAGE, page), (DOCUMENT, document)):
            written = text.detach()  # flushes everything that was written
            written.seek(0)
            with archive.open(name, "w", force_zip64=True) as entry:
                shutil.copyfileobj(written, entry)


def _add_photo(account: Account, archive: ZipFile) -> bool:
    if not account.picture:
        return False
    try:
        archive.writestr(PHOTO, stored_files.read_file(account.picture.name or ""), ZIP_STORED)
    except FileNotFoundError:  # for example after a backup without files was restored
        return False
    return True


def _write_both(account: Account, page: TextIO, document: TextIO, *, has_photo: bool, until: float | None) -> None:
    sections = contents.sections_of(account)
    about = {"service": settings.SERVICE_NAME, "address": settings.AUTH_URL, "made_at": clock.now().isoformat()}
    context = {
        "about": about,
        "account": account,
        "photo": PHOTO if has_photo else "",
        "titles": [(name, title_of(name)) for name, _ in sections],
        "document": DOCUMENT,
    }
    page.write(render_to_string("export/begin.html", context))
    document.write('{\n"about": ' + _as_json(about))
    for name, content in sections:
        document.write(f",\n{json.dumps(name)}: ")
        page.write(render_to_string("export/section.html", heading_of(name)))
        if isinstance(content, dict):
            document.write(_as_json(content))
            page.write(render_to_string("export/facts.html", {"facts": facts(content)}))
        else:
            _write_rows(iter(content), page, document, until)
        page.write("</section>\n")
    document.write("\n}\n")
    page.write(render_to_string("export/end.html", {}))


def _write_rows(rows: Iterator[dict[str, Any]], page: TextIO, document: TextIO, until: float | None) -> None:
    """Write a list; an empty list is stated as empty."""
    document.write("[")
    is_first = True
    columns: list[str] = []
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        if until is not None and time.monotonic() > until:
            raise TakesLonger
        document.write(("\n" if is_first else ",\n") + ",\n".join(_as_json(row) for row in batch))
        columns = columns or list(batch[0])
        shown = {"columns": [label_of(name) for name in columns], "rows": cells(batch, columns)}
        page.write(render_to_string("export/rows.html", shown | {"begins": is_first}))
        is_first = False
    document.write("]")
    page.write(render_to_string("export/rows_end.html", {"is_empty": is_first}))


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
