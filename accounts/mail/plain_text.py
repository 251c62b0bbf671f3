"""The plain text of a mail, read from its HTML: one template makes both.

Knows the few elements that templates/mail/ uses. A paragraph of the class `code` or `link` stands alone, on an indented
line: people find it there, and so do their programs.
"""

from html.parser import HTMLParser
from textwrap import indent

INDENT = "    "
_BLOCKS = frozenset({"p", "h1", "h2", "li", "blockquote", "dt", "dd", "hr"})
_INDENTED = frozenset({"code", "link"})
_SILENT = frozenset({"style", "head"})


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.blocks: list[tuple[str, str]] = []  # what kind of block, and its text
        self._open = ""
        self._words: list[str] = []
        self._silent: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        if tag in _SILENT or "only-html" in classes:
            self._silent.append(tag)
        if tag == "title":
            self._in_title = True
        elif tag == "br":
            self._words.append("\n")
        elif tag in _BLOCKS:
            self._end_block()
            self._open = next((name for name in classes if name in _INDENTED), tag)
            if tag == "hr":
                self.blocks.append(("hr", "--"))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._silent and tag == self._silent[-1]:
            self._silent.pop()
        if tag in _BLOCKS:
            self._end_block()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self._words.append(data if self._open == "blockquote" else " ".join(f".{data}.".split())[1:-1])

    def _end_block(self) -> None:
        lines = [line.strip() for line in "".join(self._words).strip().splitlines()]
        if any(lines):
            self.blocks.append((self._open, "\n".join(lines)))
        self._words, self._open = [], ""


def read_html(html: str) -> tuple[str, str]:
    """Return title and plain text of a mail's HTML."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    text, before = "", ""
    for kind, words in reader.blocks:
        if kind == "dd":
            text += f": {words}" if before == "dt" else f"\n{words}"
        elif text:
            # The items of a list, and the lines of what is a table in HTML, stand together.
            together = (kind, before) in {("li", "li"), ("dt", "dd")}
            text += ("\n" if together else "\n\n") + _line(kind, words)
        else:
            text = _line(kind, words)
        before = kind
    return " ".join(reader.title.split()), text.replace("--\n\n", "--\n") + "\n"


def _line(kind: str, words: str) -> str:
    if kind in _INDENTED or kind == "blockquote":
        return indent(words, INDENT)
    return f"- {words}" if kind == "li" else words
