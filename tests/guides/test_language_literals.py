"""What stands in a guide's code is a literal of its language: no value, however odd, gets out of its quotes."""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as effort

from devportal.docs.guides.readers import LITERALS
from tests.devportal.console.quick_start.test_snippets import HOSTILE, TEXT

TEXTS = [*HOSTILE, "\x00\x1f", "#{exit}", "#@x #$x", "{$x}", "$x ${x}", "\\(exit())", "\\u{22}", "*/ // --", "a\tb"]
# What begins code in a literal, and may therefore not stand in one as it is.
PLAIN = {
    "csharp": "", "dart": "$", "go": "", "java": "", "json": "", "kotlin": "$", "php": "$", "ruby": "#", "swift": "",
    "yaml": "",
}  # fmt: skip
ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]+)\}|U([0-9a-f]{8})|u([0-9a-f]{4})|([0-7]{3})|([\"\\]))")


def read_back(literal: str, unsafe: str) -> str:
    """Return what a literal of one of these languages stands for. Fails where a character should have been escaped."""
    assert (literal[0], literal[-1]) == ('"', '"')
    inside, said = literal[1:-1], ""
    while inside:
        found = ESCAPE.match(inside)
        if found:
            braces, eight, four, octal, itself = found.groups()
            point = braces or eight or four
            said += itself or chr(int(point, 16) if point else int(octal, 8))
        else:
            assert inside[0].isascii()
            assert inside[0].isprintable()
            assert inside[0] not in f'"\\{unsafe}'
            said += inside[0]
        inside = inside[found.end() if found else 1 :]
    return said.encode("utf-16", "surrogatepass").decode("utf-16")


def needs(command: str) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"no {command} on the PATH")


@pytest.mark.parametrize("language", PLAIN)
@given(text=TEXT)
@effort(max_examples=100, deadline=None)
def test_a_literal_says_its_text_and_nothing_else(language: str, text: str) -> None:
    assert read_back(LITERALS[language](text), PLAIN[language]) == text


@pytest.mark.parametrize("language", PLAIN)
@pytest.mark.parametrize("text", TEXTS)
def test_hostile_texts_stay_inside_their_quotes(language: str, text: str) -> None:
    assert read_back(LITERALS[language](text), PLAIN[language]) == text


@pytest.mark.parametrize("text", TEXTS)
def test_xml_holds_no_markup(text: str) -> None:
    escaped = LITERALS["xml"](text)
    assert not set("<>\"'") & set(escaped)
    assert html.unescape(escaped) == html.unescape(html.escape(text))


@pytest.mark.parametrize("text", TEXTS)
def test_a_directive_has_one_argument_and_no_variable(text: str) -> None:
    literal = LITERALS["apacheconf"](text)
    assert re.fullmatch(r'"(?:[^"\\$]|\\["\\])*"', literal)
    assert literal.isprintable() or not re.search(r"[\x00-\x1f\x7f-\x9f]", literal)


@pytest.mark.parametrize("text", [*TEXTS, "\u2018; exit; \u2019", "\u201b$(exit)"])
def test_a_word_of_powershell_ends_only_at_its_end(text: str) -> None:
    literal = LITERALS["powershell"](text)
    assert re.fullmatch(r"'(?:[^'\u2018-\u201b]|(['\u2018-\u201b])\1)*'", literal)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", literal)


def test_ruby_reads_back_what_was_quoted() -> None:
    needs("ruby")
    program = "require 'json'; puts JSON.generate([" + ",".join(map(LITERALS["ruby"], TEXTS)) + "])"
    assert json.loads(printed(["ruby", "-e", program])) == TEXTS


def test_json_reads_back_what_was_quoted() -> None:
    assert [json.loads(LITERALS["json"](text)) for text in TEXTS] == TEXTS


def test_php_reads_back_what_was_quoted() -> None:
    needs("php")
    program = "echo json_encode([" + ",".join(map(LITERALS["php"], TEXTS)) + "]);"
    assert json.loads(printed(["php", "-r", program])) == TEXTS


def test_a_reader_of_yaml_reads_back_what_was_quoted() -> None:
    needs("ruby")
    document = "".join(f"- {LITERALS['yaml'](text)}\n" for text in TEXTS)
    program = "require 'json'; require 'yaml'; puts JSON.generate(YAML.load(STDIN.read))"
    assert json.loads(printed(["ruby", "-e", program], document)) == TEXTS


COMPILED: dict[str, tuple[str, str, Callable[[str], str], list[str]]] = {
    "java": (
        "java",
        "Say.java",
        lambda texts: (
            f"""class Say {{ public static void main(String[] a) throws Exception {{
            for (var text : new String[] {{{texts}}}) {{
                System.out.writeBytes(text.getBytes("UTF-8")); System.out.write(255); }}
            System.out.flush(); }} }}"""
        ),
        ["java", "Say.java"],
    ),
    "go": (
        "go",
        "say.go",
        lambda texts: (
            f"""package main
            import "os"
            func main() {{
                for _, text := range []string{{{texts}}} {{ os.Stdout.Write(append([]byte(text), 255)) }}
            }}"""
        ),
        ["go", "run", "say.go"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", COMPILED)
def test_a_compiler_reads_back_what_was_quoted(language: str, tmp_path: Path) -> None:
    command, file, program, run = COMPILED[language]
    needs(command)
    (tmp_path / file).write_text(program(", ".join(map(LITERALS[language], TEXTS))))
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [each.decode() for each in done.stdout.split(b"\xff")[:-1]] == TEXTS


def printed(command: list[str], given_text: str = "") -> str:
    done = subprocess.run(command, input=given_text, capture_output=True, text=True, check=True)
    return done.stdout
