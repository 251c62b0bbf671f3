"""What stands in a guide's code is a literal: no redirect URL, however odd, gets out of its quotes."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.template.context import Context

from devportal.console.quick_start import javascript_string
from devportal.docs.guides.readers import LITERALS, Reader
from devportal.docs.guides.registry import GUIDES, Guide
from devportal.docs.templatetags.docs import guide_code
from oidc.clients.redirect_uris import validate_redirect_uri
from tests.clients.terminal import Shown
from tests.devportal.console.quick_start.test_snippets import HOSTILE

SNIPPETS = Path(__file__).resolve().parents[2] / "templates" / "snippets" / "guides"
REGISTRABLE = ["a='$(id)'", "a=$CLIENT_SECRET&b=!!;id", "a=%22%5C%60%24(id)"]
ODD_QUERIES = [*REGISTRABLE, 'a=`id`&b=${id}"', "a=*/</script>", "a=\\"]
JSX = {"page.js", "layout.js"}  # not what Node parses by itself
JAVASCRIPT = ["nextjs", "react", "express", "node"]
PYTHON = ["flask", "fastapi", "django-allauth", "django-mozilla"]


class OddReader(Reader):
    """A reader whose client has an odd redirect URL, registered or not."""

    uri = ""

    @property
    def redirect_uri(self) -> str:
        return self.uri

    @property
    def signed_out_uri(self) -> str:
        return self.uri


def blocks_of(guide: Guide, uri: str) -> list[Shown]:
    """Return the blocks of a guide's page, filled in for such a reader."""
    reader = OddReader(guide)
    type(reader).uri = uri
    found = []
    for path in sorted((SNIPPETS / guide.name).glob("*.txt")):
        name = path.name.removesuffix(".txt")
        language = language_of(name)
        shown = guide_code(Context({"reader": reader}), name, language, "code", file=name)
        found.append(Shown(shown["code"], name))
    return found


def language_of(name: str) -> str:
    endings = {".py": "python", ".js": "javascript", ".mjs": "javascript", ".jsx": "javascript", ".html": "html"}
    return endings.get(Path(name).suffix, "bash")


@pytest.mark.parametrize("query", REGISTRABLE)
def test_such_addresses_can_be_registered(query: str) -> None:
    validate_redirect_uri(f"http://localhost:3000/callback?{query}")


@pytest.mark.parametrize("name", PYTHON)
@pytest.mark.parametrize("query", ODD_QUERIES)
def test_python_reads_the_address_back(name: str, query: str) -> None:
    guide = GUIDES[name]
    uri = f"{guide.redirect_uri}?{query}"
    constants: list[object] = []
    for block in blocks_of(guide, uri):
        if block.file.endswith(".py"):
            nodes = ast.walk(ast.parse(block.code))
            constants += [node.value for node in nodes if isinstance(node, ast.Constant)]
    assert uri in constants


@pytest.mark.node
@pytest.mark.parametrize("name", JAVASCRIPT)
def test_javascript_parses_with_a_hostile_address(name: str) -> None:
    for text in ("".join(HOSTILE), *ODD_QUERIES):
        uri = f"http://localhost:3000/callback?{text}"
        blocks = [block for block in blocks_of(GUIDES[name], uri) if block.file.endswith((".js", ".mjs"))]
        assert any(javascript_string(uri) in block.code for block in blocks)
        for block in blocks:
            assert "</script>" not in block.code
            if block.file not in JSX:
                check = ["node", "--input-type=module", "--check"]
                done = subprocess.run(check, input=block.code, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on the PATH")
@pytest.mark.parametrize("name", JAVASCRIPT + PYTHON)
def test_commands_for_a_terminal_contain_no_url_of_the_reader(name: str) -> None:
    plain = {block.file: block.code for block in blocks_of(GUIDES[name], "http://localhost:3000/callback")}
    odd = {block.file: block.code for block in blocks_of(GUIDES[name], "http://localhost:3000/callback?a=$(id)'")}
    for file, code in odd.items():
        if language_of(file) in ("bash", "html"):
            assert code == plain[file]
            subprocess.run(["bash", "-n"], input=code.encode(), check=language_of(file) == "bash", capture_output=True)


def test_no_command_puts_a_secret_into_the_history_of_the_shell() -> None:
    found = 0
    for path in SNIPPETS.parent.rglob("*.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            secret = re.search(r"(?i)\b\w*(?:SECRET|KEY|TOKEN|PASSWORD|PASSPHRASE|_PW)=(?!\$)(\S+)", line)
            assert not (secret and re.search(r"\bexport\b|\benv:", line)), (path, line)
            for credential in re.findall(r"\bcurl\b.* (?:-u|--user) (\S+)", line):
                found += 1
                assert ":$" in credential, (path, line)
    assert found, "the examples have calls with a secret"


@pytest.mark.parametrize("name", GUIDES)
def test_commands_for_both_kinds_of_shells_mean_the_same_in_powershell(name: str) -> None:
    for block in blocks_of(GUIDES[name], "http://localhost:3000/callback"):
        is_shared = block.file in ("install", "run") and not block.code.startswith("sudo apt-get")
        if is_shared and name not in ("apache", "terminal"):
            for line in block.code.splitlines():
                # PowerShell reads an @ at the beginning of a word as splatting. Older versions have no &&.
                assert not re.search(r"&&|\|\||\s@|^\w+=|\bexport\b|\\$|\$\(", line), line


def test_html_takes_no_values() -> None:
    assert LITERALS["html"]("</script>") == ""
