"""Nothing goes past a safeguard without its reason: unescaped output, statements put together, redirects to a value."""

import re
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.risks import ROOT, SHIPPED, Found, found, in_python, in_script, in_template
from tests.risks_known import KNOWN

NOQA = re.compile(r"#\s*noqa\b(?P<rest>.*)")
REASONED = re.compile(r": [A-Z]+[0-9]+(?:, [A-Z]+[0-9]+)*\s+\S.+")


def known_as(name: str, what: str) -> tuple[str, str] | None:
    """Return the entry of the table that an occurrence belongs to."""
    return next((key for key in KNOWN if fnmatchcase(name, key[0]) and fnmatchcase(what, key[1])), None)


def compare(occurrences: Found) -> list[str]:
    """Return what the table and the source do not agree on."""
    seen: Counter[tuple[str, str]] = Counter()
    wrong = []
    for (name, what), times in occurrences.items():
        key = known_as(name, what)
        if key is None:
            wrong.append(f"{name} has {what}: without a reason in tests/risks_known.py")
        else:
            seen[key] += times
    for key, (agreed, _) in KNOWN.items():
        if not seen[key] or agreed not in (None, seen[key]):
            wrong.append(f"{key[0]} has {key[1]} {seen[key]} times, and a reason for {agreed or 'any number'}")
    return wrong


def test_each_risk_has_a_reason_and_each_reason_a_risk() -> None:
    assert compare(found()) == []
    assert all(len(reason) > 8 for _, reason in KNOWN.values())


def test_new_and_removed_risks_are_noticed() -> None:
    now = found().copy()
    assert compare(now + Counter({("oidc/tokens/refresh_tokens.py", "mark_safe"): 1}))
    assert compare(now + Counter({("oidc/tokens/store.py", "execute"): 1}))
    del now["core/http/webhooks.py", "csrf_exempt"]
    assert compare(now)


def test_plain_text_is_part_of_no_page() -> None:
    """Templates of plain text escape nothing; what includes one escapes what came of it."""
    pages = [*(ROOT / "templates").rglob("*.html")]
    assert pages
    for path in pages:
        assert not re.search(r"\{%\s*(?:include|extends)\s+\S+\.txt", path.read_text()), path


def test_each_silenced_warning_says_why() -> None:
    bare = []
    for top in (*SHIPPED, "tests", "benchmarks"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                silenced = NOQA.search(line)
                if silenced and "re.compile" not in line and not REASONED.fullmatch(silenced["rest"]):
                    bare.append(f"{path.relative_to(ROOT)}:{number}")
    assert bare == []


@pytest.mark.parametrize(
    "text",
    [
        "mark_safe(text)", "safestring.mark_safe(text)", "SafeString(text)", "@html_safe\nclass A: pass",
        "format_html(text)", "format_html(f'<b>{text}</b>')", "format_html_join(comma, '{}', rows)",
        "format_html_join('', template, rows)", "Model.objects.raw(sql)", "Model.objects.extra(where=[sql])",
        "RawSQL(sql, [])", "migrations.RunSQL(sql)", "cursor.execute(sql)", "cursor.execute(f'SELECT {name}')",
        "cursor.executemany(sql, rows)", "eval(text)", "exec(text)", "compile(text, '', 'exec')", "import pickle",
        "from subprocess import run", "import yaml", "from xml.dom import minidom", "run(command, shell=True)",
        "os.system(command)", "requests.get(url, verify=False)", "Context(values, autoescape=False)",
        "@csrf_exempt\ndef view(request): pass", "path('', csrf_exempt(view))",
        "@method_decorator(xframe_options_exempt)\nclass A: pass", "@cache_page(60)\ndef view(request): pass",
        "redirect(request.GET['next'])", "HttpResponseRedirect(f'{base}/account')",
        "HttpResponseRedirect(f'{reverse(name)}{rest}')",
    ],
)  # fmt: skip
def test_a_risk_in_python_is_found(text: str) -> None:
    assert list(in_python(text))


@pytest.mark.parametrize(
    "text",
    [
        "format_html('<b>{}</b>', text)", "format_html_join('', '<b>{}</b>', rows)", "cursor.execute('SELECT 1')",
        "re.compile(text)", "HttpResponseRedirect(reverse('home'))", "HttpResponseRedirect(f'{reverse(name)}?{query}')",
        "redirect('account_plan')", "requests.get(url, verify=True)", "raw = row.raw",
    ],
)  # fmt: skip
def test_harmless_python_is_accepted(text: str) -> None:
    assert list(in_python(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "{{ text|safe }}", "{{ text|default:other|safe }}", "{% autoescape off %}{{ text }}{% endautoescape %}",
        "<p class={{ name }}>", '<p id="a" class={{ name }}>', '<a href="{{ url }}">', '<a href=" {{ url }}">',
        '<img src="{{ url }}/a.png">', "<script>run()</script>", "<script nonce='a'>run()</script>",
        "<style>p { color: red }</style>", '<p style="color: red">', '<p onclick="run()">',
        '<a href="javascript:run()">', '<a href="https://example.com/" target="_blank">',
        '<form method="post"><input name="a"></form>', '<form class="form" method="post" action="{% url \'home\' %}">',
    ],
)  # fmt: skip
def test_a_risk_in_a_template_is_found(text: str) -> None:
    assert list(in_template(text))


@pytest.mark.parametrize(
    "text",
    [
        "{{ text }}", '<p class="{{ name }}">', "{% include 'a.html' with name=value %}",
        "<a href=\"{% url 'home' %}?a={{ value }}\">", '<a href="?a={{ value }}" class="b">',
        '<a href="https://example.com/" target="_blank" rel="noopener noreferrer">',
        "<script src=\"{% static 'js/a.js' %}\" defer></script>", '<form method="get"><input name="a"></form>',
        '<form method="post">{% csrf_token %}</form>',
    ],
)  # fmt: skip
def test_harmless_templates_are_accepted(text: str) -> None:
    assert list(in_template(text)) == []


@pytest.mark.parametrize("text", ["a.innerHTML = b", "document.write(a)", "eval(a)", "new Function(a)"])
def test_a_risk_in_a_script_is_found(text: str) -> None:
    assert list(in_script(text))


def test_every_source_is_read(tmp_path: Path) -> None:
    names = {name for name, _ in found()}
    assert {name.partition("/")[0] for name in names} >= {"accounts", "api", "core", "devportal", "oidc", "templates"}
