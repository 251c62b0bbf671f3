"""Why a check found no proof: each code has a text, and each text gets its values."""

from core import outbound
from oidc.domains.proofs import TEXTS, Code, Problem, problems_of
from oidc.models import ProjectDomain
from tests.messages import assert_parameters_fit

Method = ProjectDomain.Method


def test_each_code_has_a_text_and_gets_its_parameters() -> None:
    assert set(TEXTS) == set(Code)
    assert_parameters_fit(dict(TEXTS), Code, "oidc/domains/proofs.py", besides=("is_temporary",))
    assert_parameters_fit(dict(outbound.TEXTS), outbound.Code, "core/outbound")


def test_every_code_has_one_meaning() -> None:
    assert not set(Code) & set(outbound.Code)


def test_a_stored_problem_reads_as_it_was_found() -> None:
    found = [
        Problem(Method.DNS, outbound.Code.REDIRECT, {"cause": outbound.Code.SCHEME}),
        Problem(Method.FILE, Code.NO_FILE, {"status": 404}),
    ]
    domain = ProjectDomain(problems=[problem.as_json() for problem in found])
    assert problems_of(domain) == found
    assert [(problem.label, problem.text) for problem in problems_of(domain)] == [
        (
            "DNS record",
            "The URL redirects to one that is not requested. Only URLs that begin with https:// are requested.",
        ),
        ("File", "There is no such file: the web server answered 404."),
    ]
