"""The contents of a person's export, section by section, and the archive that holds them (docs/accounts.md#export).

Packages on higher layers hold personal data as well; they add sections with the signal `exporting`. A section is a
dict, a list, or for long sections an iterator of rows, which is read while the file is written.
"""

import io
import json
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO, Any, TextIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.db.models import QuerySet
from django.template.loader import render_to_string

from accounts.activity import recording
from accounts.data_export import readable
from accounts.models import Account, AccountRecovery, AddressChange, DataExport, Outbox, SecurityEvent
from accounts.plans import overview
from accounts.roles import roles_of
from accounts.signals import exporting
from core import clock
from core.http.places import browser_name
from core.storage import stored_files

ROWS_PER_QUERY = 500


def sections_of(account: Account) -> list[tuple[str, Any]]:
    """Return the name and content of each section of the person's export."""
    sections: list[tuple[str, Any]] = [
        ("profile", _profile(account)),
        ("addresses", _addresses(account)),
        ("address_changes", _address_changes(account)),
        ("sign_in_methods", _factors(account)),
        ("sessions", _sessions(account)),
        ("recoveries", _recoveries(account)),
        ("security_activity", _activity(account)),
        ("plan", overview.export_plans(account)),
        ("mails", _mails(account)),
        ("exports", _exports(account)),
    ]
    answers: list[tuple[Any, Any]] = list(exporting.send(sender=Account, account=account))
    for _, added in answers:
        sections += added.items()
    return sections


def rows_of(queryset: "QuerySet[Any]") -> Iterator[Any]:
    """Yield the rows of a queryset in the order of their keys, read a few at a time."""
    last = 0
    while batch := list(queryset.filter(pk__gt=last).order_by("pk")[:ROWS_PER_QUERY]):
        yield from batch
        last = batch[-1].pk


def moment(at: datetime | None) -> str | None:
    """Return a time in the format of exports."""
    return at.isoformat() if at else None


def _profile(account: Account) -> dict[str, Any]:
    return {
        "email": account.email,
        "email_verified": account.email_verified,
        "given_name": account.given_name,
        "family_name": account.family_name,
        "has_picture": bool(account.picture),
        "has_password": account.has_usable_password(),
        "created_at": moment(account.created_at),
        "last_login": moment(account.last_login),
        "time_zone": account.time_zone,
        "roles": ["superuser"] if account.is_superuser else sorted(roles_of(account)),
    }


def _addresses(account: Account) -> list[dict[str, Any]]:
    return [
        {"email": address.email, "verified": address.verified, "primary": address.primary}
        for address in EmailAddress.objects.filter(user=account).order_by("pk")
    ]


def _address_changes(account: Account) -> list[dict[str, Any]]:
    return [
        {"from": row.old_email, "to": row.new_email, "at": moment(row.at)}
        for row in AddressChange.objects.filter(account=account).order_by("pk")
    ]


def _recoveries(account: Account) -> list[dict[str, Any]]:
    """Return the account recoveries that operators or the person started (docs/accounts.md#recovery-by-an-operator)."""
    return [
        {
            "taken_over_at": moment(row.taken_over_at),
            "started_at": moment(row.started_at),
            "due_at": moment(row.due_at),
            "ended_at": moment(row.ended_at),
        }
        for row in AccountRecovery.objects.filter(account=account).order_by("pk")
    ]


def _factors(account: Account) -> list[dict[str, Any]]:
    """Return passkeys, authenticator apps and recovery codes by name, never their secrets."""
    return [
        {
            "kind": row.get_type_display(),
            "name": row.data.get("name") if row.type == Authenticator.Type.WEBAUTHN else None,
            "created_at": moment(row.created_at),
            "last_used_at": moment(row.last_used_at),
        }
        for row in Authenticator.objects.filter(user=account).order_by("pk")
    ]


def _sessions(account: Account) -> list[dict[str, Any]]:
    return [
        {
            "browser": browser_name(row.user_agent),
            "user_agent": row.user_agent,
            "ip": row.ip,
            "created_at": moment(row.created_at),
        }
        for row in UserSession.objects.filter(user=account).order_by("pk")
    ]


def _activity(account: Account) -> Iterator[dict[str, Any]]:
    for event in rows_of(SecurityEvent.objects.filter(account=account)):
        yield {
            "at": moment(event.at),
            "what": recording.sentence(event),
            "by": event.get_by_display(),
            "browser": event.browser,
            "ip": event.ip,
            "place": event.place,
        }


def _mails(account: Account) -> Iterator[dict[str, Any]]:
    """Yield the emails in the outbox to the person's verified addresses; an unverified one may be someone else's."""
    for mail in rows_of(Outbox.objects.filter(to__in=verified_addresses_of(account))):
        yield {
            "to": mail.to,
            "subject": mail.subject,
            "queued_at": moment(mail.created_at),
            "sent_at": moment(mail.sent_at),
        }


def _exports(account: Account) -> list[dict[str, Any]]:
    rows = DataExport.objects.filter(account=account).order_by("pk")
    return [{"asked_at": moment(row.asked_at), "ready_at": moment(row.ready_at)} for row in rows]


def addresses_of(account: Account) -> set[str]:
    """Return all email addresses of the account, verified or not, and its recent former ones.

    An email address that another account is about to get (`passes_on`) is left out, because invitations and mails to it
    are for the person who has the mailbox.
    """
    more = EmailAddress.objects.filter(user=account).values_list("email", flat=True)
    left = AddressChange.objects.filter(account=account).values_list("old_email", flat=True)
    someone_elses = Account.objects.filter(email__in=left).exclude(pk=account.pk).values_list("email", flat=True)
    return {account.email, *(address.lower() for address in more), *left} - {*someone_elses, account.passes_on}


def earlier_addresses_of(account: Account) -> dict[str, datetime]:
    """Return the person's earlier email addresses that the activity names, and until when mails to them were theirs.

    That is for as long as the change can be taken back, because they get mails about it. Email addresses that belong to
    another account now are left out.
    """
    events = SecurityEvent.objects.filter(account=account, kind__in=("address_changed", "address_removed"))
    earlier = {}
    for at, details in events.order_by("pk").values_list("at", "details"):
        address = str(details.get("old") or details.get("address") or "").lower()
        earlier[address] = at + timedelta(days=settings.ADDRESS_REVERSAL_DAYS)
    others = set(Account.objects.filter(email__in=earlier).exclude(pk=account.pk).values_list("email", flat=True))
    return {address: until for address, until in earlier.items() if address and address not in others}


def verified_addresses_of(account: Account) -> list[str]:
    """Return the verified email addresses of the person, the primary one first."""
    rows: Iterable[str] = EmailAddress.objects.filter(user=account, verified=True).values_list("email", flat=True)
    proven = [account.email] if account.email_verified else []
    return list(dict.fromkeys(proven + [address.lower() for address in rows]))


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
    sections = [(name, _started(content)) for name, content in sections_of(account)]
    about = {"service": settings.SERVICE_NAME, "address": settings.AUTH_URL, "made_at": clock.now().isoformat()}
    on_page = [name for name, content in sections if not readable.is_empty(name, content)]
    context = {
        "about": about,
        "account": account,
        "made_at": clock.now(),
        "photo": PHOTO if has_photo else "",
        "titles": [(name, readable.title_of(name)) for name in on_page],
        "document": DOCUMENT,
        "zone": account.time_zone,
    }
    page.write(render_to_string("export/begin.html", context))
    document.write('{\n"about": ' + _as_json(about))
    for name, content in sections:
        document.write(f",\n{json.dumps(name)}: ")
        section = _Section(name, page if name in on_page else io.StringIO(), account.time_zone)
        section.write("section", readable.heading_of(name))
        if isinstance(content, dict):
            document.write(_as_json(content))
            section.write("facts", {"facts": readable.facts(name, content)})
        else:
            _write_rows(content, section, document, until)
        section.page.write("</section>\n")
    document.write("\n}\n")
    page.write(render_to_string("export/end.html", {}))


@dataclass(frozen=True)
class _Section:
    """A section of the page; the page of an empty section is thrown away."""

    name: str
    page: TextIO
    zone: str

    def write(self, template: str, context: dict[str, Any]) -> None:
        self.page.write(render_to_string(f"export/{template}.html", context | {"zone": self.zone}))


_Rows = tuple[list[dict[str, Any]], Iterator[dict[str, Any]]]


def _started(content: Any) -> Any:
    """Return a dict as it is, and rows as a list of the first ones and an iterator over the others."""
    if isinstance(content, dict):
        return content
    rows = iter(content)
    return list(islice(rows, ROWS_AT_ONCE)), rows


def _write_rows(started: _Rows, section: _Section, document: TextIO, until: float | None) -> None:
    first, rest = started
    rows = chain(first, rest)
    document.write("[")
    is_first = True
    columns = readable.columns_of(section.name, first, has_all=len(first) < ROWS_AT_ONCE)
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        if until is not None and time.monotonic() > until:
            raise TakesLonger
        document.write(("\n" if is_first else ",\n") + ",\n".join(_as_json(row) for row in batch))
        labels = [readable.label_of(name) for name in columns]
        cells = readable.cells(batch, columns)
        section.write("rows", {"columns": labels, "rows": cells, "begins": is_first})
        is_first = False
    document.write("]")
    section.write("rows_end", {})


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
