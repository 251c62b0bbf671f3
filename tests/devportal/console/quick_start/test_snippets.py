"""What stands in a snippet is a literal: no value, however odd, gets out of its quotes."""

import ast
import json
import shutil
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from devportal.console import quick_start
from devportal.console.quick_start import (
    QuickStartApp,
    app_for,
    javascript_string,
    python_string,
    quick_start_blocks,
    shell_string,
)
from oidc.models import Client
from oidc.values.redirect_uris import validate_redirect_uri
from tests.factories import make_client

HOSTILE = [
    "it's",
    'say "hello"',
    "$(touch /tmp/owned)",
    "`id`",
    "${HOME}",
    "$CLIENT_SECRET",
    "a\nb",
    "a\r\nb",
    "\\",
    "\\'",
    '\\"',
    "!!",
    "%s %d {0} {x}",
    "{{ issuer }}{% now %}",
    "</script><script>alert(1)</script>",
    "<!--",
    "${alert(1)}",
    "\u2028\u2029",
    "\u202eevil",
    "\ufeff",
    "日本語 🦊",
    "-n",
    "~root",
    "*?[a]",
    "",
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
URIS = [
    "http://localhost:3000/cb?a='$(id)'",
    "http://localhost:3000/cb?a=$CLIENT_SECRET&b=!!;id",
    "http://127.0.0.1:3000/it's/(a)",
    "http://localhost:3000/%27%22%60%24(id)",
]


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_reads_back_what_was_quoted(shell: str) -> None:
    words = " ".join(shell_string(text) for text in HOSTILE)
    done = subprocess.run([shell, "-c", f"printf '%s\\0' {words}"], capture_output=True, check=True)
    expected = ["".join(character for character in text if character not in "\r\n") for text in HOSTILE]
    assert done.stdout.decode().split("\0")[:-1] == expected


def test_control_characters_are_removed_from_shell_words() -> None:
    assert shell_string("a\x03\x1b[A\x7f\x9bb") == "'a[Ab'"


@given(TEXT)
@example("\x00")
@effort(max_examples=300, deadline=None)
def test_python_reads_back_what_was_quoted(text: str) -> None:
    literal = python_string(text)
    assert ast.literal_eval(literal) == text
    assert literal.isprintable()


def test_node_reads_back_what_was_quoted() -> None:
    if shutil.which("node") is None:
        pytest.skip("no node on the PATH")
    texts = [*HOSTILE, "\x00\x1f"]
    program = "console.log(JSON.stringify([" + ",".join(map(javascript_string, texts)) + "]))"
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == texts


@given(TEXT)
@effort(max_examples=300, deadline=None)
def test_javascript_strings_are_safe_in_a_page(text: str) -> None:
    literal = javascript_string(text)
    assert json.loads(literal) == text
    assert literal.isascii()
    assert "<" not in literal


@pytest.mark.parametrize("kind", Client.Type.values)
@pytest.mark.parametrize("uri", URIS)
def test_a_hostile_address_stays_inside_its_quotes(uri: str, kind: str) -> None:
    validate_redirect_uri(uri)
    app = QuickStartApp(kind, "op_client_x", uri)
    shell = "\n".join(block.code for block in quick_start_blocks(app, "curl"))
    subprocess.run(["bash", "-n"], input=shell.encode(), check=True)
    assignment = next(line for line in shell.split("\n") if line.startswith("REDIRECT_URI="))
    word = assignment.removeprefix("REDIRECT_URI=")
    assert word == shell_string(uri)
    for block in quick_start_blocks(app, "python"):
        if block.file:
            constants = {
                target.id: node.value.value
                for node in ast.parse(block.code).body
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            assert constants["REDIRECT_URI"] == uri


@pytest.mark.parametrize("kind", Client.Type.values)
def test_javascript_parses_with_a_hostile_address(kind: str) -> None:
    if shutil.which("node") is None:
        pytest.skip("no node on the PATH")
    for uri in ("".join(HOSTILE), URIS[0]):
        for block in quick_start_blocks(QuickStartApp(kind, "op_client_x", uri), "javascript"):
            if block.file.endswith((".js", ".mjs")):
                done = subprocess.run(
                    ["node", "--input-type=module", "--check"],
                    input=block.code,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("language", quick_start.LANGUAGES)
def test_the_secret_comes_from_the_environment(language: str) -> None:
    code = "\n".join(block.code for block in quick_start_blocks(QuickStartApp("web", "op_client_x", URIS[0]), language))
    assert "CLIENT_SECRET" in code
    for kind in ("spa", "native"):
        code = "\n".join(
            block.code
            for block in quick_start_blocks(QuickStartApp(kind, "op_client_x", "http://localhost/cb"), language)
        )
        assert "SECRET" not in code


@pytest.mark.parametrize(
    ("registered", "shown"),
    [
        ("https://app.example.com/cb http://127.0.0.1:9/cb http://localhost:8/cb", "http://127.0.0.1:9/cb"),
        ("https://app.example.com/cb https://localhost/cb", quick_start.SUGGESTED_REDIRECT_URI),
        ("", quick_start.SUGGESTED_REDIRECT_URI),
    ],
)
def test_the_address_shown_is_one_at_which_the_code_can_listen(registered: str, shown: str, db: None) -> None:
    client = make_client(redirect_uris=registered)
    assert app_for(client) == QuickStartApp(client.type, client.client_id, shown)
