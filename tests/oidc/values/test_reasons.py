"""The table of reasons: every reason has texts, help, a link, an anchor, and values for its placeholders."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from django.test import Client as Browser
from django.urls import resolve

import oidc
from core.messages import placeholders
from devportal.console.fixes import linked_fix
from devportal.console.logs.sign_in_log import ERRORS
from oidc.models import TokenFamily
from oidc.values.reasons import Facts, Reason, developer_text
from tests.factories import make_client

# RFC 6749 §5.2: the characters of error_description.
SAFE = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]+")
# Errors of userinfo, which has no log.
NEVER_LOGGED = {"invalid_token", "insufficient_scope"}


def raised() -> Iterator[tuple[str, Reason, set[str]]]:
    """Yield where the sign-in service names a reason beside the values of its placeholders, and their names."""
    for path in sorted(Path(oidc.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            parts = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []
            for first, second in pairwise(parts):
                if _is_reason(first) and isinstance(second, ast.Dict):
                    names = {key.value for key in second.keys if isinstance(key, ast.Constant)}
                    yield f"{path.name}:{node.lineno}", Reason[first.attr], {str(name) for name in names}  # type: ignore[attr-defined]


def _is_reason(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason"


def test_every_refusal_has_its_texts_and_its_help(db: None) -> None:
    page = Browser().get("/docs/errors").content.decode()
    refusals = [reason for reason in Reason if reason.table]
    assert len(refusals) >= 130
    for reason in refusals:
        assert SAFE.fullmatch(reason.description), reason
        assert all((reason.error, reason.cause, reason.fix, reason.link.label)), reason
        assert f'id="reason-{reason}"' in page
        assert reason.error in {*ERRORS, *NEVER_LOGGED}, reason  # the log can be searched for it
    assert all(reason.log for reason in set(Reason) - set(refusals))


def test_each_fix_links_to_a_part_of_a_page(db: None) -> None:
    client = make_client()
    places = {linked_fix(reason.fix, reason.link, client).url.partition("#")[::2] for reason in Reason}
    assert len(places) >= 20
    for path, anchor in sorted(places):
        assert resolve(path).url_name
        if path.startswith("/docs/"):
            assert not anchor or f'id="{anchor}"' in Browser().get(path).content.decode(), (path, anchor)


def test_each_reason_is_raised_with_the_values_of_its_placeholders() -> None:
    found = list(raised())
    assert len(found) >= 8
    for where, reason, names in found:
        assert names >= placeholders(reason.description) | placeholders(reason.log), where


def test_codes_fit_their_columns() -> None:
    length = TokenFamily._meta.get_field("revocation_reason").max_length
    assert length is not None
    assert all(len(reason) <= length for reason in Reason)


def test_a_value_that_is_missing_breaks_no_page() -> None:
    assert developer_text(Reason.CODE_EXPIRED, {}) == "The code is older than {seconds} seconds."
    assert developer_text("reason_of_a_later_version", {}) == "reason_of_a_later_version"


def test_lists_and_empty_values_can_be_read() -> None:
    facts: Facts = {"asked": [], "acr": "", "amr": ["pwd", "otp"]}
    assert developer_text(Reason.ACR_RETURNED, facts) == "Asked for: (none). Returned acr: (none), amr: pwd, otp."
