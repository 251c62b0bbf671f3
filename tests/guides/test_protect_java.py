"""The guide to protect an API with Spring Boot."""

from collections.abc import Callable

import pytest

from tests.guides.java import managed
from tests.guides.protecting import ProtectedApi, check_at_once, check_calls, check_later, check_limit
from tests.guides.reading import needs
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, needs("java", "mvn", "curl")]


def test_spring(protected: Callable[[str], ProtectedApi]) -> None:
    api = protected("spring")
    guide = api.guide
    guide.save()
    run, _token, call, jwt = guide.commands
    guide.run(run)
    check_calls(api, call, names_scope=False)
    check_at_once(api)
    check_limit(api, run, status=500)
    artifacts = ("org.springframework.boot:spring-boot", "org.springframework.security:spring-security-core")
    record_run("protect-spring", managed(guide, *artifacts))

    guide.close()
    (guide.folder / "src/main/java/com/example/Security.java").write_text(jwt)
    guide.run(run)
    check_calls(api, call, names_scope=False)
    check_later(api)
