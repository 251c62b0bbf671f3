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
from oidc.models import Client
from oidc.values.redirect_uris import validate_redirect_uri
from tests.clients.terminal import Shown
from tests.devportal.console.quick_start.test_snippets import HOSTILE

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
SNIPPETS, PAGES = TEMPLATES / "snippets" / "guides", TEMPLATES / "docs" / "guides"
REGISTRABLE = ["a='$(id)'", "a=$CLIENT_SECRET&b=!!;id", "a=%22%5C%60%24(id)"]
ODD_QUERIES = [*REGISTRABLE, 'a=`id`&b=${id}"', "a=*/</script>", "a=\\"]
JSX = {"page.js", "layout.js"}  # not what Node parses by itself
# Of each `code_lines` of the pages: anchor, language and code.
LINES = [
    lines
    for page in sorted(PAGES.glob("*.html"))
    for lines in re.findall(
        r'code_lines "(.+?)" "(\w+)" .*? %}\n(.*?)\n *{% endcode_lines', page.read_text(), re.DOTALL
    )
]
JAVASCRIPT = ["nextjs", "react", "vue", "svelte", "express", "node"]
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
    shared = [SNIPPETS / "auth.js.txt"] if guide.app_type == Client.Type.SPA else []
    for path in [*shared, *sorted((SNIPPETS / guide.name).glob("*.txt"))]:
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
def test_lines_in_the_pages_contain_no_value_but_the_port() -> None:
    for name, language, code in LINES:
        assert set(re.findall(r"\{[{%].*", code.replace("{{ reader.port }}", ""))) == set(), name
        if language == "bash":
            subprocess.run(["bash", "-n"], input=code.encode(), check=True, capture_output=True)


def test_no_command_puts_a_secret_into_the_history_of_the_shell() -> None:
    found = 0
    snippets = [path.read_text(encoding="utf-8") for path in SNIPPETS.parent.rglob("*.txt")]
    for code in (*snippets, *(code for _, _, code in LINES)):
        for line in code.splitlines():
            secret = re.search(r"(?i)\b\w*(?:SECRET|KEY|TOKEN|PASSWORD|PASSPHRASE|_PW)=(?!\$)(\S+)", line)
            assert not (secret and re.search(r"\bexport\b|\benv:", line)), line
            for credential in re.findall(r"\bcurl\b.* (?:-u|--user) (\S+)", line):
                found += 1
                assert ":$" in credential, line
    assert found, "the examples have calls with a secret"


def test_commands_for_both_kinds_of_shells_mean_the_same_in_powershell() -> None:
    found = 0
    for name, _, code in LINES:
        is_shared = name in ("code-install", "code-run") and not code.startswith(("sudo apt-get", "/usr/sbin/"))
        for line in code.splitlines() if is_shared else []:
            found += 1
            # PowerShell reads an @ at the beginning of a word as splatting. Older versions have no &&.
            assert not re.search(r"&&|\|\||\s@|^\w+=|\bexport\b|\\$|\$\(", line), line
    assert found


def test_html_takes_no_values() -> None:
    assert LITERALS["html"]("</script>") == ""
