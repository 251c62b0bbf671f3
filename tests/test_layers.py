"""The project's layers: a module imports from layers below its own and from its own, without a circle.

Nothing is imported to find this out; the source is parsed. Imports inside functions and those for types only
count like all others. Strings count where they stand for an import: `apps.get_model("oidc.Client")`, the
target of a foreign key, `import_string("api.keys.find")`, a migration's dependency; and where they name what a layer
above serves or stores: the path or the URL name of one of its pages, one of its tables.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = {
    "devportal.review": 5, "devportal.operations": 5, "devportal.console": 4, "devportal.docs": 4,
    "api": 3, "oidc": 2, "accounts": 1, "core": 0,
}  # fmt: skip
# The packages of large layers, the lowest first. Modules beside them may import from all.
ROOMS = {
    "accounts": (
        "models", "profile", "deletion", "mail", "activity", "plans", "data_export", "sessions", "entrance", "factors",
        "recovery",
    ),
    "oidc": (
        "values", "models", "projects", "apis", "clients", "tokens", "events", "authorization", "domains",
        "sign_in_log", "protocol", "sign_out", "views",
    ),
    "devportal.review": ("rules", "cases", "submission", "evidence", "decisions", "admin"),
}  # fmt: skip
# Imports against this order.
AGAINST = {
    "accounts.mail.recipient_limit imports accounts.sessions.known_browsers",
    "oidc.apis.scope_review imports oidc.clients.lookup",
    "devportal.review.submission.developer_actions imports devportal.review.evidence.tasks",
}
# Imports whatever it ties together, and is imported by none; tasks are declared with `celery.shared_task`.
WIRING = (
    "devportal.settings", "devportal.urls", "devportal.wsgi", "devportal.celery", "devportal.admin_lists",
)  # fmt: skip
# The labels of Django apps that differ from their packages.
LABELS = {room: f"devportal.{room}" for room in ("console", "review", "operations")}
# Calls whose strings are imports by another name.
LOOKUPS = {
    "get_model", "import_module", "import_string", "find_spec", "include",
    "ForeignKey", "OneToOneField", "ManyToManyField",
}  # fmt: skip
MODEL = re.compile(r"(accounts|oidc|api|console|review|operations)\.[A-Z]\w+")
TABLE = re.compile(r"\b(accounts|oidc|api|console|review|operations)_[a-z]+\b")
URL_NAME = re.compile(r"(console):\w+")
# What is served below these paths, by which layer.
PATHS = {"/console": "devportal.console", "/docs": "devportal.docs", "/v1": "api", "/connect": "oidc"}
PATH = re.compile(rf"({'|'.join(PATHS)})(?![\w-])")

FILE_LINES = 500
FUNCTION_LINES = 45
# One table, and one file by design.
ONE_TABLE = ("oidc.values.reasons",)


@dataclass(frozen=True)
class Use:
    """One module's mention of another."""

    user: str
    used: str
    line: int
    imports: bool


@dataclass(frozen=True)
class Module:
    name: str
    path: Path
    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @property
    def package(self) -> str:
        """The package that a relative import starts from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def read(root: Path) -> dict[str, Module]:
    """Parses the modules of all layers, and of the wiring, below `root`."""
    tops = {name.partition(".")[0] for name in (*LAYERS, *WIRING)}
    modules = {}
    for path in sorted(path for top in tops for path in (root / top).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return modules


def layer(name: str) -> int | None:
    """Returns the layer of a dotted name, or None when it is on none."""
    return next((level for top, level in LAYERS.items() if name == top or name.startswith(f"{top}.")), None)


def is_wiring(name: str) -> bool:
    """Whether a dotted name is a module of the wiring, or in one."""
    return name == "devportal" or any(name == top or name.startswith(f"{top}.") for top in WIRING)


def tables(modules: dict[str, Module]) -> set[str]:
    """The names of all tables that the models have, or would have without `db_table`."""
    found = set()
    for name, module in modules.items():
        package, dot, _ = name.partition(".models")
        app = {package: label for label, package in LABELS.items()}.get(package, package)
        if dot:
            classes = (node for node in module.nodes if isinstance(node, ast.ClassDef))
            found |= {f"{app}_{node.name.lower()}" for node in classes}
            for node in module.nodes:
                match node:
                    case ast.Assign(targets=[ast.Name(id="db_table")], value=ast.Constant(value=str(text))):
                        found.add(text)
    return found


def _strings(module: Module) -> Iterator[tuple[str, int]]:
    """Yields the strings of a module and their lines, without docstrings."""
    docstrings = {id(node.value) for node in module.nodes if isinstance(node, ast.Expr)}
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value, node.lineno


def mentions(module: Module, known: set[str]) -> Iterator[Use]:
    """Yields what the strings of a module name: paths, URL names, and the tables that are `known`."""
    for text, line in _strings(module):
        found = [match[1] for match in TABLE.finditer(text) if match[0] in known]
        found += [match[1] for match in [URL_NAME.fullmatch(text)] if match]
        found += [PATHS[match[1]] for match in [PATH.match(text)] if match]
        for app in found:
            yield Use(module.name, LABELS.get(app, app), line, imports=False)


def uses(module: Module) -> Iterator[Use]:
    """Yields what a module mentions: `a.b` for `import a.b`, and `a.b.c` for `from a.b import c`."""
    for node in module.nodes:
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=source, names=names, level=level):
                # Two dots are the parent of the package, as one is the package itself.
                start = module.package.split(".")[: None if level < 2 else 1 - level] if level else []
                base = ".".join([*start, *([source] if source else [])])
                found = [f"{base}.{alias.name}" for alias in names]
            case ast.Call():
                found = list(_named_in_call(node))
            case ast.Constant(value=str(text)) if MODEL.fullmatch(text):
                found = [text]
            case ast.Tuple(elts=[ast.Constant(value=str(app)), ast.Constant(value=str(other))]) if (
                ".migrations." in module.name and other[:1].isdigit()  # a dependency such as ("api", "0001_initial")
            ):
                found = [app]
            case _:
                continue
        for name in found:
            label, dot, rest = name.partition(".")
            used = LABELS.get(label, label) + dot + rest
            yield Use(module.name, used, node.lineno, isinstance(node, ast.Import | ast.ImportFrom))


def _named_in_call(call: ast.Call) -> Iterator[str]:
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    if called not in LOOKUPS:
        return
    for argument in (*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "to")):
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value


def climbs(modules: dict[str, Module]) -> list[str]:
    """Lists the uses that lead upwards, and those of the wiring."""
    wrong = [f"{name} stands on no layer" for name in modules if layer(name) is None and not is_wiring(name)]
    known = tables(modules)
    for use in (use for module in modules.values() for use in (*uses(module), *mentions(module, known))):
        own, other = layer(use.user), layer(use.used)
        if is_wiring(use.used) and use.used != "devportal" and not is_wiring(use.user):
            wrong.append(f"{use.user}:{use.line} imports the wiring: {use.used}")
        if own is not None and other is not None and other > own:
            wrong.append(f"{use.user}:{use.line} (layer {own}) reaches up to {use.used} (layer {other})")
    return sorted(set(wrong))


def circle(modules: dict[str, Module]) -> list[str]:
    """Returns the modules of one circle, the first again at the end, or nothing."""
    graph: dict[str, set[str]] = {}
    for name, module in modules.items():
        reached = {_module_of(use.used, modules) for use in uses(module) if use.imports}
        graph[name] = {other for other in reached if other}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def against(modules: dict[str, Module]) -> set[str]:
    """Returns the imports of a package from one that stands above it in ROOMS."""
    found = set()
    for use in (use for module in modules.values() for use in uses(module) if use.imports):
        other = _module_of(use.used, modules) or ""
        for top, rooms in ROOMS.items():
            own_room, other_room = (name.removeprefix(f"{top}.").split(".")[0] for name in (use.user, other))
            is_inside = use.user.startswith(f"{top}.") and other.startswith(f"{top}.")
            if is_inside and {own_room, other_room} <= {*rooms} and rooms.index(own_room) < rooms.index(other_room):
                found.add(f"{use.user} imports {other}")
    return found


def _module_of(name: str, modules: dict[str, Module]) -> str | None:
    """The module that a name is, or that holds it."""
    if name in modules:
        return name
    holder = name.rpartition(".")[0]
    return holder if holder in modules else None


def oversized(modules: dict[str, Module]) -> list[str]:
    """Lists the files and functions that have grown past one subject; migrations may be long."""
    wrong = []
    for module in modules.values():
        if ".migrations." in module.name:
            continue
        lines = len(module.path.read_text(encoding="utf-8").splitlines())
        if lines > FILE_LINES and module.name not in ONE_TABLE:
            wrong.append(f"{module.name} has {lines} lines")
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES:
                    wrong.append(f"{module.name}.{node.name} has {length} lines")
    return wrong


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    return read(ROOT)


def test_every_module_imports_downwards_only(modules: dict[str, Module]) -> None:
    assert {layer(name) for name in modules} >= set(LAYERS.values()), "a layer was not found"
    assert climbs(modules) == []


def test_no_modules_import_each_other_in_a_circle(modules: dict[str, Module]) -> None:
    assert circle(modules) == []


def test_packages_of_a_layer_import_in_their_order(modules: dict[str, Module]) -> None:
    assert against(modules) == AGAINST


def test_an_import_against_the_order_is_found(tmp_path: Path) -> None:
    files = {"oidc/tokens/store.py": "", "oidc/values/reasons.py": "from oidc.tokens import store"}
    assert against(tree(tmp_path, files)) == {"oidc.values.reasons imports oidc.tokens.store"}


def test_files_and_functions_stay_within_one_subject(modules: dict[str, Module]) -> None:
    assert oversized(modules) == []


def tree(root: Path, files: dict[str, str]) -> dict[str, Module]:
    """Writes modules and reads them back."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read(root)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("oidc/tokens/refresh_tokens.py", "import api.keys"),
        ("oidc/tokens/refresh_tokens.py", "from api import keys"),
        ("oidc/tokens/refresh_tokens.py", "from devportal import console"),
        ("oidc/tokens/refresh_tokens.py", "from devportal.operations.audit import record"),
        ("oidc/tokens/refresh_tokens.py", "def late():\n    from api.keys import find"),
        ("oidc/tokens/refresh_tokens.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import api"),
        ("accounts/people.py", "from django.apps import apps\nClient = apps.get_model('oidc.Client')"),
        ("accounts/people.py", "Client = apps.get_model('oidc', 'Client')"),
        ("accounts/people.py", "app = models.ForeignKey('oidc.Client')"),
        ("accounts/people.py", "app = models.ForeignKey(on_delete=1, to='oidc.Client')"),
        ("accounts/people.py", "MODEL = 'console.AuditEvent'"),
        ("devportal/console/urls.py", "from devportal.review import views"),
        ("devportal/docs/pages.py", "from devportal.operations.models import TaskRun"),
        ("accounts/people.py", "record = import_string('devportal.operations.audit.record_event')"),
        ("accounts/migrations/0001.py", "dependencies = [('oidc', '0001_initial')]"),
        ("core/clock.py", "from ..console import audit"),
        ("core/clock.py", "import accounts.people"),
        ("core/clock.py", "from devportal import settings"),
        ("core/clock.py", "from devportal.settings.environment import PORT"),
        ("api/keys.py", "from devportal.celery import app"),
        ("api/keys.py", "import devportal.urls"),
        ("devportal/extra.py", "import json"),
        ("core/clock.py", "ADDRESS = '/console/projects'"),
        ("core/clock.py", "def f(host):\n    return f'{host}/v1/me'"),
        ("oidc/views/token.py", "back = reverse('console:home')"),
        ("oidc/models/tokens.py", "class Family(Model):\n    pass\nSQL = 'SELECT 1 FROM api_apikey'"),
        ("accounts/people.py", "LISTS = [('Audit', 'console_auditevent')]"),
    ],
)
def test_an_import_of_a_higher_layer_is_found(tmp_path: Path, where: str, text: str) -> None:
    models = {
        "api/models.py": "class ApiKey(Model):\n    pass",
        "devportal/console/models.py": "class AuditEvent(Model):\n    pass",
    }
    assert climbs(tree(tmp_path, models)) == []
    assert climbs(tree(tmp_path, models | {where: text}))


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("api/keys.py", "from oidc.tokens.refresh_tokens import check\nimport accounts\nfrom core import clock"),
        ("api/keys.py", "from . import limits\nfrom .callers import Caller\nimport httpx"),
        ("oidc/views/token.py", "from ..tokens import check\nfrom ...accounts import people"),
        ("devportal/operations/audit.py", "from ..lib import clock\nimport api.usage_counts\nMODEL = 'oidc.Client'"),
        ("devportal/settings/libraries.py", "from devportal.settings import environment\nimport oidc.apis.scopes"),
        ("devportal/urls.py", "from api import urls\npath = include('devportal.console.urls')"),
        ("devportal/__init__.py", "from devportal.celery import app"),
        ("accounts/people.py", "scope = 'api.read'\nword = ('oidc', 'a scope')\nkey = ForeignKey('accounts.Plan')"),
        ("accounts/migrations/0001.py", "dependencies = [('accounts', '0000_first')]"),
        ("accounts/people.py", '"""Shown at /console/ and in console_auditevent."""\nSCOPE = "api_scope"\nX = "/v10"'),
        ("api/keys.py", "ENDPOINTS = ['/v1/me', '/connect/token', 'api_apikey']"),
    ],
)
def test_a_use_of_a_lower_or_the_same_layer_is_allowed(tmp_path: Path, where: str, text: str) -> None:
    assert climbs(tree(tmp_path, {where: text})) == []


def test_a_circle_is_found_and_named(tmp_path: Path) -> None:
    modules = tree(
        tmp_path,
        {
            "api/keys.py": "def late():\n    from .throttling import count_call",
            "api/throttling.py": "from api import authentication",
            "api/authentication.py": "import api.keys",
            "api/usage_counts.py": "import api.keys",
        },
    )
    assert sorted(set(circle(modules))) == ["api.authentication", "api.keys", "api.throttling"]


def test_a_package_that_gathers_its_modules_is_no_circle(tmp_path: Path) -> None:
    parts = {
        "api/models/__init__.py": "from api.models.keys import ApiKey\nfrom .usage import UsageBucket",
        "api/models/keys.py": "from api.models.usage import UsageBucket",
        "api/models/usage.py": "import json",
    }
    assert circle(tree(tmp_path, parts)) == []
    parts["api/models/usage.py"] = "from api.models import ApiKey"
    assert circle(tree(tmp_path, parts))


def test_a_long_file_and_a_long_function_are_found(tmp_path: Path) -> None:
    body = "    pass\n"
    fits = "def f():\n" + body * (FUNCTION_LINES - 1)
    assert oversized(tree(tmp_path, {"api/keys.py": fits, "api/migrations/0001.py": "x = 1\n" * 301})) == []
    assert oversized(tree(tmp_path, {"api/keys.py": fits + body})) == [f"api.keys.f has {FUNCTION_LINES + 1} lines"]
    assert oversized(tree(tmp_path, {"api/keys.py": "x = 1\n" * 501})) == ["api.keys has 501 lines"]
