"""The ZIP of an export: a page to read, the same as JSON, and the photo (docs/accounts.md#export).

Page and JSON are written side by side from one reading of the data, a few rows at a time.
"""

import io
import json
import shutil
import time
from collections.abc import Iterator
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any, TextIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from django.conf import settings
from django.template.loader import render_to_string

from accounts import export
from accounts.leaving import readable
from accounts.models import Account
from devportal.lib import clock, stored_files

PAGE, DOCUMENT, PHOTO = "your-data.html", "your-data.json", "photo.webp"
ROWS_AT_ONCE = 200


class TakesLonger(Exception):
    """An export is not done within the time that its caller has."""


def write_archive(account: Account, target: IO[bytes], *, until: float | None = None) -> None:
    """Write the person's export to `target`. `until` is a moment of the monotonic clock.

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
            written = text.detach()  # with all that was written
            written.seek(0)
            with archive.open(name, "w", force_zip64=True) as entry:
                shutil.copyfileobj(written, entry)


def _add_photo(account: Account, archive: ZipFile) -> bool:
    if not account.picture:
        return False
    try:
        archive.writestr(PHOTO, stored_files.read_file(account.picture.name or ""), ZIP_STORED)
    except FileNotFoundError:  # a backup without its files
        return False
    return True


def _write_both(account: Account, page: TextIO, document: TextIO, *, has_photo: bool, until: float | None) -> None:
    sections = export.sections_of(account)
    about = {"service": settings.SERVICE_NAME, "address": settings.AUTH_URL, "made_at": clock.now().isoformat()}
    context = {
        "about": about,
        "account": account,
        "photo": PHOTO if has_photo else "",
        "titles": [(name, readable.title_of(name)) for name, _ in sections],
        "document": DOCUMENT,
    }
    page.write(render_to_string("export/begin.html", context))
    document.write('{\n"about": ' + _as_json(about))
    for name, content in sections:
        document.write(f",\n{json.dumps(name)}: ")
        page.write(render_to_string("export/section.html", readable.heading_of(name)))
        if isinstance(content, dict):
            document.write(_as_json(content))
            page.write(render_to_string("export/facts.html", {"facts": readable.facts(content)}))
        else:
            _write_rows(iter(content), page, document, until)
        page.write("</section>\n")
    document.write("\n}\n")
    page.write(render_to_string("export/end.html", {}))


def _write_rows(rows: Iterator[dict[str, Any]], page: TextIO, document: TextIO, until: float | None) -> None:
    """Write a list; what is empty is said to be."""
    document.write("[")
    is_first = True
    columns: list[str] = []
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        if until is not None and time.monotonic() > until:
            raise TakesLonger
        document.write(("\n" if is_first else ",\n") + ",\n".join(_as_json(row) for row in batch))
        columns = columns or list(batch[0])
        shown = {"columns": [readable.label_of(name) for name in columns], "rows": readable.cells(batch, columns)}
        page.write(render_to_string("export/rows.html", shown | {"begins": is_first}))
        is_first = False
    document.write("]")
    page.write(render_to_string("export/rows_end.html", {"is_empty": is_first}))


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
