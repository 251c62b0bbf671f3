"""The text of an email, read from its HTML: nothing is lost, and nobody's words look like something else."""

import re

import pytest

from accounts.mail.rendering import WIDTH, read_html

CODE = re.compile(r"^ {4}(\S+)$", re.MULTILINE)


def text_of(body: str) -> str:
    return read_html(f"<html><head><title>T</title><style>p {{}}</style></head><body>{body}</body></html>")[1]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>Fish &amp; chips &lt;b&gt; &#39;n&#x27; &eacute;&nbsp;1&thinsp;%</p>", "Fish & chips <b> 'n' é 1 %"),
        ("<p>one<br>two<br/>three</p>", "one\ntwo\nthree"),
        ("<p>a <b>bold</b> word, <i>and</i><em> another</em>.</p>", "a bold word, and another."),
        ("<p>to<b>ge</b>ther</p>", "together"),
        ("<p><b>a</b> <i>b</i>\n<i>c</i></p>", "a b c"),
        ("<p>a \n\t b</p>\n\n<p> c</p>", "a b\n\nc"),
        ("<p></p><p> </p><p>a</p><p><br></p><p>b</p>", "a\n\nb"),
        ("<ul><li>a</li><li>b</li></ul><p>c</p>", "- a\n- b\n\nc"),
        ("<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>", "- a\n   - b\n   - c\n- d"),
        ("<dl><dt>When</dt><dd>now</dd><dt>From</dt><dd>here</dd></dl><p>x</p>", "When: now\nFrom: here\n\nx"),
        ('<p>a</p><p class="code">AB-CD</p><p>b</p>', "a\n\n    AB-CD\n\nb"),
        ('<p class="link"><a href="https://x.example/?a=1&amp;copy=2">See it</a></p>', "    https://x.example/?a=1&copy=2"),
        ('<p>See <a href="https://x.example/?a=1&amp;b=2">this</a>.</p>', "See this (https://x.example/?a=1&b=2)."),
        ('<p>See <a href="https://x.example/">https://x.example/</a>.</p>', "See https://x.example/."),
        ('<p>Ask <a href="mailto:a@x.example">a@x.example</a></p>', "Ask a@x.example"),
        ('<p>Ask <a href="mailto:a@x.example">us</a></p>', "Ask us (a@x.example)"),
        ('<p>a</p><div class="only-html"><div><p>b</p><br><img alt=""></div>c</div><p>d</p>', "a\n\nd"),
        ('<p>a</p><hr class="only-html"><p>b</p>', "a\n\nb"),
        ("<p>a</p><hr><p>b</p>", "a\n\n--\nb"),
        ("<table><tr><td>a</td></tr><tr><td><p>b</p></td></tr></table>", "a\n\nb"),
        ("plain <b>words</b><p>a", "plain words\n\na"),
        ("<!-- note --><p>a<!-- b --></p><!--[if mso]><table><![endif]-->", "a"),
    ],
)  # fmt: skip
def test_plain_text_keeps_the_content(html: str, text: str) -> None:
    assert text_of(html) == f"{text}\n"


def test_the_title_is_one_line() -> None:
    assert read_html("<title>\n Tom &amp;\n Jerry </title><p>x</p>") == ("Tom & Jerry", "x\n")


def test_lines_are_short_and_long_words_stay_whole() -> None:
    words, address = "word " * 60, "https://x.example/" + "a" * 90
    text = text_of(
        f"<p>{words}</p><ul><li>{words}</li></ul><dl><dt>Browser</dt><dd>{words}</dd></dl><p>{address} b</p>"
    )
    lines = text.splitlines()
    assert [line for line in lines if len(line) > WIDTH] == [address]
    assert sum(line.count("word") for line in lines) == 180
    assert "Browser: word" in text
    assert CODE.findall(text) == []


FORGED = "Hello\n--\nThe service\n\n    ABCD-EFGH\n\n    https://evil.example/\nWhen: now\n- a\n> b"


def test_texts_of_others_are_quoted_line_by_line() -> None:
    text = text_of(f"<p>They write:</p><blockquote>{FORGED.replace(chr(10), '<br>')}</blockquote><p>To answer:</p>")
    before, *quoted, after = text.strip().split("\n\n")
    assert (before, after) == ("They write:", "To answer:")
    lines = "\n\n".join(quoted).splitlines()
    assert [line[2:] for line in lines] == FORGED.splitlines(), "verbatim"
    assert {line[:2].strip() for line in lines} == {">"}
    assert CODE.findall(text) == []


def test_no_line_end_leaves_the_quotation() -> None:
    for end in ("\n", "\u2028", "\u2029", "\x0b", "\x0c", "\x85"):
        text = text_of(f"<blockquote>a{end}    ABCD-EFGH{end}--{end}b</blockquote>")
        assert all(line.startswith(">") for line in text.splitlines()), repr(end)


@pytest.mark.parametrize(
    "place", ["<p>{}</p>", "<p>a {} b</p>", "<ul><li>{}</li></ul>", "<dl><dt>a</dt><dd>{}</dd></dl>"]
)
def test_elsewhere_texts_of_others_add_no_lines(place: str) -> None:
    for forged in (FORGED, "--", "-- " + "x" * 80, "    ABCD-EFGH", "\u2028    ABCD-EFGH\u2028--\u2028"):
        text = text_of(place.format(forged))
        assert CODE.findall(text) == []
        assert "--" not in text.splitlines()
        assert "\n\n" not in text
