"""Every email of the service, with its samples and with hostile ones: whole, small, and safe in each mail program."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.template.engine import Engine

from accounts.mail import rendering
from accounts.mail.rendering import Mail, render_mail
from accounts.mail.samples import all_samples
from accounts.models import SecurityEvent

ROOT = Path(__file__).parents[3]
TEMPLATES = ROOT / "templates" / "mail"
NAMES = sorted(path.stem for path in TEMPLATES.glob("*.html") if not path.stem.startswith("base"))
CASES = [pytest.param([dict(case) for case in each.cases.values()], id=name) for name, each in all_samples().items()]
NAMED = [pytest.param(name, *case.values, id=name) for name, case in zip(all_samples(), CASES, strict=True)]
HOSTILE = [
    "<b>bold</b><script>alert(1)</script></td></table>",
    "Tom & Jerry &lt;i&gt; &copy=1 \"quoted\" 'too'",
    "first\n--\nThe service\n\n    ABCD-EFGH\n\nsecond\r\nthird\rfourth",
    "\u202etxet desrever\u202c \u2067isolated \u2066open",
    "x" * 300,
    "https://evil.example/ " * 12,
    "{{ site }} {% now 'Y' %} {# no #}",
    "\x00\x07\x1b[31m\ud800 --\u2028--\u2029    ABCD-EFGH",
]
VOID = {"meta", "br", "hr", "img", "link"}
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
CODE = re.compile(r"^ {4}(\S+)$", re.MULTILINE)


class Outline(HTMLParser):
    """The elements of a document, checked to be closed as they were opened."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.faults: list[str] = []
        self.feed(html)
        self.close()
        self.faults += self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"/{tag}")


@pytest.fixture
def strict() -> Iterator[None]:
    """Have a variable that is missing stand in the email."""
    engine = Engine.get_default()
    before, engine.string_if_invalid = engine.string_if_invalid, "MISSING(%s)"
    yield
    engine.string_if_invalid = before


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the templates make: the inliner fixes HTML that is broken."""
    pages: list[str] = []

    def inline(html: str) -> str:
        pages.append(html)
        return str(real.inline(html))

    real = rendering._INLINER
    monkeypatch.setattr(rendering, "_INLINER", SimpleNamespace(inline=inline))
    return pages


@pytest.fixture
def helped(settings: Any) -> None:
    settings.SUPPORT_EMAIL, settings.HELP_URL = "help@example.com", "https://help.example.com/?a=1&b=2"


def spoiled(value: Any, hostile: str) -> Any:
    """Return a sample's value with the hostile text for each text in it; links are the service's own."""
    if isinstance(value, str):
        return hostile
    if isinstance(value, list):
        return [spoiled(each, hostile) for each in value]
    if isinstance(value, dict):
        return {key: each if key in ("link", "code") else spoiled(each, hostile) for key, each in value.items()}
    if isinstance(value, SecurityEvent):
        return SecurityEvent(at=value.at, browser=hostile, place=hostile, ip=value.ip)
    return value


def shape(mail: Mail) -> list[tuple[str, str | None]]:
    return [(tag, attrs.get("class")) for tag, attrs in Outline(mail.html).seen if tag != "br"]


def test_every_template_has_a_sample_and_every_sample_a_template() -> None:
    assert sorted(all_samples()) == NAMES


def test_the_page_of_docs_names_every_template() -> None:
    text = (ROOT / "docs" / "mail.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in text] == []


@pytest.mark.parametrize(("name", "cases"), NAMED)
def test_every_mail_is_complete(
    name: str, cases: list[dict[str, Any]], strict: None, helped: None, written: list[str]
) -> None:
    source = Engine.get_default().get_template(f"mail/{name}.html").source
    assert "|safe" not in source
    assert "autoescape" not in source
    for context in cases:
        mail = render_mail(name, context)
        assert "MISSING" not in mail.subject + mail.text + mail.html
        outline = Outline(mail.html)
        assert outline.faults == Outline(written[-1]).faults == []
        tags = [tag for tag, _ in outline.seen]
        assert tags.count("h1") == 1, "one heading"
        assert not {"script", "img", "form", "iframe", "object", "link", "base"} & set(tags)
        assert ("html", "en") in [(tag, attrs.get("lang")) for tag, attrs in outline.seen]
        assert all(attrs.get("role") == "presentation" for tag, attrs in outline.seen if tag == "table")
        assert re.search(r"url\(|@import|@font-face", mail.html) is None, "nothing from outside"
        assert max(len(mail.html.encode()), len(mail.text.encode())) < 100_000
        assert mail.text.endswith("--\nOpenport\n\nQuestions? https://help.example.com/?a=1&b=2 or help@example.com\n")
        assert all(len(line) <= 72 or " " not in line.strip().removeprefix("> ") for line in mail.text.splitlines())
        assert "\n\n\n" not in mail.text
        links = [attrs["href"] or "" for tag, attrs in outline.seen if tag == "a"]
        ours = (settings.AUTH_URL, "https://id.example.com/", "https://help.example.com/", "mailto:help@example.com")
        assert all(link.startswith(ours) for link in links)
        assert sorted(re.findall(r"https?://\S+", mail.text)) == sorted(link for link in links if "mailto" not in link)
        if "code" in context:
            assert [each for each in CODE.findall(mail.text) if each not in links] == [context["code"]]
            assert all(context["code"] not in link for link in links), "a code is typed"


@pytest.mark.parametrize(("name", "cases"), NAMED)
def test_texts_can_not_change_the_layout_of_a_mail(name: str, cases: list[dict[str, Any]], written: list[str]) -> None:
    for context in cases:
        plain = render_mail(name, spoiled(context, "words"))
        for hostile in HOSTILE:
            said = render_mail(name, spoiled(context, hostile))
            assert Outline(said.html).faults == Outline(written[-1]).faults == []
            assert shape(said) == shape(plain)
            assert CODE.findall(said.text) == CODE.findall(plain.text)
            assert said.text.splitlines().count("--") == 1
            assert "\n" not in said.subject
            assert len(said.subject) <= 200
            assert not UNSEEN.search(said.html + said.text)


def test_missing_values_are_reported(strict: None) -> None:
    assert "MISSING" in render_mail("family_invitation", {}).html
