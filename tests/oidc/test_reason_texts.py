"""The table of reasons: every reason has texts, help, an anchor and values for the placeholders of its texts."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from django.test import Client as Browser

import oidc
from core.messages import placeholders
from devportal.console.logs.sign_in_log import ERRORS
from devportal.console.reason_help import HELP
from oidc.models import TokenFamily
from oidc.reason_texts import AUTHORIZATION_ERRORS, NOTES, REASONS, TOKEN, developer_text
from oidc.reasons import _OF_LIBRARY, _OF_LIBRARY_BY_CODE, REVOCATION_REASONS, Facts, Reason

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


def places(reason: Reason) -> set[str]:
    text = REASONS[reason]
    return placeholders(text.public) | placeholders(text.developer)


def test_every_reason_has_its_texts_and_every_refusal_its_help() -> None:
    assert set(REASONS) == set(Reason)
    assert set(HELP) == set(Reason) - set(NOTES)
    assert all(text.error and text.public for reason, text in REASONS.items() if reason not in NOTES)
    assert all(help_.cause and help_.fix and help_.label for help_ in HELP.values())


def test_descriptions_can_be_sent() -> None:
    assert all(SAFE.fullmatch(text.public) for reason, text in REASONS.items() if reason not in NOTES)


def test_each_reason_is_raised_with_the_values_of_its_placeholders() -> None:
    found = list(raised())
    assert len(found) >= 8
    assert [each for each in found if not each[2] >= places(each[1])] == []


def test_every_reason_is_documented_under_its_code(db: None) -> None:
    page = Browser().get("/docs/errors").content.decode()
    assert [reason for reason in HELP if f'id="reason-{reason}"' not in page] == []


def test_every_error_can_be_searched_in_the_log() -> None:
    logged = {text.error for reason, text in REASONS.items() if reason not in NOTES} - NEVER_LOGGED
    assert logged <= set(ERRORS)
    assert set(AUTHORIZATION_ERRORS) <= set(ERRORS)


def test_codes_fit_their_columns() -> None:
    length = TokenFamily._meta.get_field("revocation_reason").max_length
    assert length is not None
    assert all(len(reason) <= length for reason in Reason)
    assert set(REVOCATION_REASONS) <= set(TOKEN)


def test_errors_of_the_library_have_a_reason() -> None:
    assert set(_OF_LIBRARY.values()) | set(_OF_LIBRARY_BY_CODE.values()) <= set(TOKEN)


def test_a_value_that_is_missing_breaks_no_page() -> None:
    assert developer_text(Reason.CODE_EXPIRED, {}) == "The code is older than {seconds} seconds."
    assert developer_text("reason_of_a_later_version", {}) == "reason_of_a_later_version"


def test_lists_and_empty_values_can_be_read() -> None:
    facts: Facts = {"asked": [], "acr": "", "amr": ["pwd", "otp"]}
    assert developer_text(Reason.ACR_RETURNED, facts) == "Asked for: (none). Returned acr: (none), amr: pwd, otp."
