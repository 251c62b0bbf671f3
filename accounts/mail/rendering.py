"""Emails in HTML and plain text, both from one template (docs/mail.md)."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from textwrap import wrap
from typing import Any

import css_inline
from django.conf import settings
from django.template import Context
from django.template.engine import Engine

INDENT = "    "
WIDTH = 72  # characters per line; only text that can't be broken is longer
RULE = "--"
_BLOCKS = frozenset(
    {"p", "h1", "h2", "h3", "li", "blockquote", "dt", "dd", "div", "ul", "ol", "dl", "td", "tr", "table"}
)
_LISTS = frozenset({"ul", "ol"})
_ALONE = frozenset({"code", "link"})
_VOID = frozenset({"br", "hr", "img", "meta", "link", "col", "wbr"})
_SILENT = frozenset({"style", "head", "script"})


@dataclass
class _Block:
    """A paragraph: its kind (a tag, or a class of _ALONE), its depth in lists, and its lines."""

    kind: str
    depth: int = 0
    lines: list[str] = field(default_factory=lambda: [""])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.blocks: list[_Block] = []
        self._block = _Block("p")
        self._depth = 0
        self._silent: list[str] = []  # the open elements inside the outermost one that is left out
        self._in_title = False
        self._link: tuple[str, int] | None = None  # URL of the open link, and where its text begins in the line

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        classes = (dict(attrs).get("class") or "").split()
        if self._silent or tag in _SILENT or "only-html" in classes:
            if tag not in _VOID:
                self._silent.append(tag)
            return
        if tag == "br":
            self._block.lines.append("")
        elif tag == "hr":
            self._begin("hr")
            self._block.lines = [RULE]
            self._begin("p")
        elif tag == "a":
            self._link = (dict(attrs).get("href") or "", len(self._block.lines[-1]))
        elif tag in _BLOCKS:
            self._depth += tag in _LISTS
            self._begin(next((name for name in classes if name in _ALONE), tag))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._silent:
            if tag in self._silent:
                del self._silent[len(self._silent) - 1 - self._silent[::-1].index(tag) :]
            return
        if tag == "a" and self._link:
            self._name_address(*self._link)
            self._link = None
        elif tag in _BLOCKS:
            self._depth -= tag in _LISTS
            self._begin("p")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self._block.lines[-1] += data

    def close(self) -> None:
        super().close()
        self._begin("p")

    def _begin(self, kind: str) -> None:
        """End the current block and begin another one."""
        lines = [line for written in self._block.lines for line in self._read(written)]
        while lines and not lines[0]:
            lines.pop(0)
        while lines and not lines[-1]:
            lines.pop()
        if lines:
            self._block.lines = lines
            self.blocks.append(self._block)
        self._block = _Block(kind, self._depth)

    def _read(self, written: str) -> list[str]:
        if self._block.kind == "blockquote":  # keeps the lines of its author
            return [line.rstrip() for line in written.splitlines()] or [""]
        return [" ".join(written.split())]

    def _name_address(self, address: str, begins: int) -> None:
        """Write the URL of a link that ends: instead of its text if the link stands alone, else after it."""
        line = self._block.lines[-1]
        words = " ".join(line[begins:].split())
        if self._block.kind == "link":
            self._block.lines[-1] = line[:begins] + address
        elif address and words not in (address, address.removeprefix("mailto:")):
            self._block.lines[-1] += f" ({address.removeprefix('mailto:')})"


def read_html(html: str) -> tuple[str, str]:
    """Return title and plain text of an email's HTML."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    text, before = "", ""
    for block in reader.blocks:
        if text:
            text += _between(before, block.kind)
        text += _written(block, text[text.rfind("\n") + 1 :] if (before, block.kind) == ("dt", "dd") else "")
        before = block.kind
    return " ".join(reader.title.split()), text + "\n"


def _between(before: str, kind: str) -> str:
    """Return the text between two blocks: list items and rows of an HTML table have no empty line between them."""
    if (before, kind) == ("dt", "dd"):
        return ": "
    return "\n" if before == "hr" or (before, kind) in {("li", "li"), ("dd", "dt"), ("dd", "dd")} else "\n\n"


def _written(block: _Block, started: str) -> str:
    """Return a block's text; `started` is the part of its first line that is already written."""
    if block.kind in _ALONE:
        return "\n".join(INDENT + line for line in block.lines)
    if block.kind == "blockquote":
        return "\n".join(f"> {line}".rstrip() for line in block.lines)
    if block.kind == "hr":
        return RULE
    first = rest = ""
    if block.kind == "li":  # not indented as far as a code
        rest = "   " * max(block.depth - 1, 0) + "  "
        first = rest[:-2] + "- "
    elif block.kind == "dd":
        first, rest = "x" * len(started), "  "
    lines: list[str] = []
    for line in block.lines:
        lines += _wrapped(line, rest if lines else first, rest)
    return "\n".join(lines)[len(started) :]


def _wrapped(line: str, first: str, rest: str) -> list[str]:
    """Wrap a line to lines of WIDTH; none of them looks like the separator above the signature."""
    lines = wrap(
        line, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return [f" {each}" if each == RULE else each for each in lines]


SUBJECT_LENGTH = 200
# Mail programs that remove an email's stylesheets keep inline styles. The dark scheme is a separate stylesheet, which
# base.html marks to be kept.
_INLINER = css_inline.CSSInliner(load_remote_stylesheets=False)
# Controls (category Cc) except tab and line end, surrogates (Cs), and characters that change the direction of the text
# after them, beyond the text of their author (UAX #9, 2.1 to 2.5).
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_BLANK_LINES = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Mail:
    """An email that can be sent: HTML and text have the same content."""

    subject: str
    text: str
    html: str = ""


def render_mail(template: str, context: dict[str, Any]) -> Mail:
    """Return the email of `templates/mail/<template>.html`, whose title is the subject.

    The template gets the context and the variables of all emails: `service_name`, `site` (the URL of this service), and
    `support_email` and `help_url`, "" if there is none. Raises TemplateDoesNotExist.
    """
    known = {
        "service_name": settings.SERVICE_NAME,
        "site": settings.AUTH_URL,
        "support_email": settings.SUPPORT_EMAIL,
        "help_url": settings.HELP_URL,
    }
    source = Engine.get_default().get_template(f"mail/{template}.html")
    html = printable(source.render(Context(known | context)))
    title, text = read_html(html)
    subject = f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}{title}"[:SUBJECT_LENGTH]
    return Mail(subject, text, _BLANK_LINES.sub("\n", _INLINER.inline(html)))


def printable(text: str) -> str:
    """Remove control characters except line ends and tabs: some would end a header, others can't be stored.

    Also remove the ones that change the direction of the text after them.
    """
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    return printable(" ".join(text.split()))
