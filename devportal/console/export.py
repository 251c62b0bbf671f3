"""Download a log or a report as CSV or JSON."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.http import HttpRequest, StreamingHttpResponse

FORMAT = "format"  # the query parameter
# The content type of each format, by its name in the query.
FORMATS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
_BYTE_ORDER_MARK = "\ufeff"  # Excel reads a file without it in the encoding of the computer, not as UTF-8
MOST_ROWS = 50_000  # in one file; to export more rows, people filter by time
# A spreadsheet would run a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001  (full-width ones, too)
# Many spreadsheets separate cells by semicolons or tabs, and then ignore quotes within a line: a cell may begin there.
_FORMULA_WITHIN = re.compile(r"([;\t\r\n][ \"]*)(?=[=+\-@＝＋－＠])")  # noqa: RUF001

Row = TypeVar("Row")
# The columns of a file: name, and how the value is read from a row.
Columns = Mapping[str, Callable[[Row], Any]]


def requested_format(request: HttpRequest) -> str:
    """Return "csv" or "json" if the query asks for a file, otherwise ""."""
    wanted = request.GET.get(FORMAT, "")
    return wanted if wanted in FORMATS else ""


def export(name: str, file_format: str, columns: "Columns[Row]", rows: Iterable[Row]) -> StreamingHttpResponse:
    """Return the rows as a file that the browser downloads; `name` is without its ending."""
    lines = _json_lines(columns, rows) if file_format == "json" else _csv_lines(columns, rows)
    return download(f"{name}.{file_format}", FORMATS[file_format], lines)


def download(file_name: str, content_type: str, lines: Iterable[str]) -> StreamingHttpResponse:
    """Return lines as a file that the browser downloads."""
    response = StreamingHttpResponse(lines, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response


def write_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a CSV file (RFC 4180). Texts are escaped against CSV injection, times are in UTC."""
    writer: Any = csv.writer(_Echo())
    yield _BYTE_ORDER_MARK + writer.writerow(header)
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def iso_time(moment: datetime) -> str:
    """Return a time in UTC in ISO 8601."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Echo:
    """A file-like object whose `write` returns the text, for csv.writer."""

    def write(self, text: str) -> str:
        return text


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso_time(value)
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False) if value else ""
    if not isinstance(value, str):
        return value
    text = _FORMULA_WITHIN.sub(r"\1'", value)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def _csv_lines(columns: "Columns[Row]", rows: Iterable[Row]) -> Iterator[str]:
    return write_csv(list(columns), ([read(row) for read in columns.values()] for row in rows))


def _json_lines(columns: "Columns[Row]", rows: Iterable[Row]) -> Iterator[str]:
    yield "["
    for number, row in enumerate(rows):
        values = {name: read(row) for name, read in columns.items()}
        yield ("," if number else "") + "\n" + json.dumps(values, ensure_ascii=False, default=iso_time)
    yield "\n]\n"
