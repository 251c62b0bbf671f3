"""Find code that bypasses a safeguard, such as unescaped output, composed SQL statements, and redirects to a value.

Only the source is read. Python is parsed. Templates are searched as text, because browsers get text.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("accounts", "api", "core", "devportal", "examples", "oidc")
# Found wherever the name occurs, in a call or as a decorator.
NAMES = {
    "mark_safe", "html_safe", "RawSQL", "eval", "exec",
    "csrf_exempt", "xframe_options_exempt", "xframe_options_sameorigin", "cache_page",
}  # fmt: skip
# Found as the call of an attribute: `queryset.raw(...)`, `os.system(...)`.
METHODS = {
    "raw", "extra", "RunSQL", "compile", "execute", "executemany", "execute_command",
    "system", "popen", "Popen", "check_output", "check_call",
}  # fmt: skip
MARKERS = {"SafeString", "SafeData", "SafeText"}
# The method `compile` of these does not compile Python code.
HARMLESS_OWNERS = {"re", "regex", "_compiler"}
MODULES = {"pickle", "marshal", "shelve", "dill", "subprocess", "yaml", "telnetlib", "ftplib", "xml"}
FORMATS = {"format_html": 0, "format_html_join": 1}
REDIRECTS = {
    "redirect", "HttpResponseRedirect", "HttpResponsePermanentRedirect", "OAuth2ResponseRedirect", "see_other",
}  # fmt: skip
URL_ATTRIBUTES = r"(?:href|src|srcset|action|formaction|poster|cite|data)"
# Control characters that make a line look different from what it does.
BIDIRECTIONAL = re.compile("[\u202a-\u202e\u2066-\u2069]")

Found = Counter[tuple[str, str]]


def in_python(text: str) -> Iterator[str]:
    """Yield what the source of a Python module does, in the names that KNOWN uses (tests/risks_known.py)."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (f"import {alias.name}" for alias in names if alias.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in MODULES:
                yield f"import {module}"
            case ast.Call():
                yield from _in_call(node)
            case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
                yield name


def _in_call(call: ast.Call) -> Iterator[str]:
    name = _name(call.func)
    owner = (_name(call.func.value) or "?") if isinstance(call.func, ast.Attribute) else ""
    is_written_out = name.startswith("execute") and call.args and isinstance(call.args[0], ast.Constant)
    if owner and name in METHODS | NAMES and owner not in HARMLESS_OWNERS and not is_written_out:
        yield name
    if name in MARKERS or (not owner and name == "compile"):
        yield name
    place = FORMATS.get(name)
    if place is not None and not all(isinstance(argument, ast.Constant) for argument in call.args[: place + 1]):
        yield name
    if name in REDIRECTS and call.args and not _is_own_address(call.args[0]):
        yield "redirect to a value"
    for keyword in call.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg in ("verify", "autoescape") and value is not True:
            yield f"{keyword.arg}={ast.unparse(keyword.value)}"
        if keyword.arg == "shell" and value is not False:
            yield "shell=True"


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_own_address(node: ast.expr) -> bool:
    """Return whether a URL is a literal or the URL of a route. The part after a `?` may be anything."""
    match node:
        case ast.Constant():
            return True
        case ast.Call(func=func):
            return _name(func) == "reverse"
        case ast.IfExp(body=body, orelse=orelse):
            return _is_own_address(body) and _is_own_address(orelse)
        case ast.JoinedStr(values=[ast.FormattedValue(value=value), ast.Constant(value=str(rest)), *_]):
            return _is_own_address(value) and rest.startswith(("?", "#"))
    return False


def in_template(text: str, name: str = "page.html") -> Iterator[str]:
    """Yield what a template does, in the names that KNOWN uses."""
    yield from ("safe" for _ in re.finditer(r"\|\s*safe(?:seq)?\b", text))
    yield from ("autoescape off" for _ in re.finditer(r"\{%\s*autoescape\s+off\b", text))
    if not name.endswith(".html"):
        return
    for match in re.finditer(rf'\s{URL_ATTRIBUTES}="\s*(\{{\{{[^"]*?\}}\}})', text):
        yield f"link {match[1]}"
    # Text inside quotes or template tags is not an attribute, so it is removed first.
    plain = re.sub(r'"[^"<>]*"', '""', re.sub(r"\{%.*?%\}", "", text, flags=re.DOTALL))
    yield from ("unquoted attribute" for _ in re.finditer(r"<[^>]*\s[\w-]+=\{\{", plain))
    for match in re.finditer(r"<script\b([^>]*)>", text):
        if "src=" not in match[1] and 'type="application/json"' not in match[1]:
            yield "inline script"
    yield from ("inline style" for _ in re.finditer(r"<style\b|<[^>]+\sstyle\s*=", text))
    yield from ("inline handler" for _ in re.finditer(r"<[^>]+\son[a-z]+\s*=|javascript:", text))
    for match in re.finditer(r"<[^>]*\starget=[^>]*>", text):
        if "noopener" not in match[0]:
            yield "target without noopener"
    for match in re.finditer(r"<form\b([^>]*)>.*?(?:</form>|\Z)", text, re.DOTALL):
        if re.search(r'method="(?!get\b)', match[1], re.IGNORECASE) and "csrf_token" not in match[0]:
            yield "form without a token"


def in_script(text: str) -> Iterator[str]:
    """Yield the functions by which one of our scripts turns a text into HTML or code, or shares data."""
    names = r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function|postMessage|localStorage)\b"
    yield from (match[1] for match in re.finditer(names, text))


def sources() -> Iterator[Path]:
    """Yield the files of this service that are part of a release."""
    yield ROOT / "manage.py"
    for folder in (*(ROOT / top for top in SHIPPED), ROOT / "templates", ROOT / "static"):
        yield from (path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".html", ".txt", ".js"))


@cache
def found() -> Found:
    """Return how often each file does each thing for which KNOWN has to contain a reason."""
    result: Found = Counter()
    for path in sources():
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        read = {".py": in_python, ".js": in_script}.get(path.suffix)
        result.update((name, what) for what in (read(text) if read else in_template(text, name)))
        result.update((name, "bidirectional control") for _ in BIDIRECTIONAL.finditer(text))
    return result
