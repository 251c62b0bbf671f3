"""Settings that can't be read, or are dangerous, stop the start with a sentence that names the variable."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as as_read
from django.core.checks import run_checks

from core import clock, settings_checks
from tests.services import keeper, plugin
from tests.users import another_user

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = as_read.NUMBER_BOUNDS
PRODUCTION = {
    "ENVIRONMENT": "production",
    "AUTH_URL": "https://auth.example.com",
    "BASE_URL": "https://api.example.com",
    "DATABASE_URL": "postgresql://portal@127.0.0.1:9/portal",
    "REDIS_URL": "redis://127.0.0.1:9/0",
    "EMAIL_URL": "smtp+tls://portal:secret@mail.example.com:587",
    "SECRET_KEY": "s" * 40,
    "KEY_ENCRYPTION_KEY": "k" * 40,
}

Check = Callable[[Any], list[Any]]


def ids(check: Check) -> list[str]:
    return [message.id.removeprefix("devportal.") for message in check(None)]


def serious(check: Check) -> list[bool]:
    return [message.is_serious() for message in check(None)]


@pytest.fixture
def production(settings: Any) -> Any:
    """The settings of a service for people, in which nothing is wrong."""
    settings.ENVIRONMENT, settings.EMBEDDED = "production", False
    settings.AUTH_URL, settings.BASE_URL = "https://auth.example.com", "https://api.example.com"
    settings.ALLOWED_HOSTS = ["auth.example.com", "api.example.com"]
    settings.SECRET_KEY, settings.KEY_ENCRYPTION_KEY = "s" * 40, "k" * 40
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL = "mail.example.com", True, False
    assert (
        settings_checks.find_dangers().count("devportal.E0") <= 4
    )  # what oidc/checks.py says of the tests' own stores
    return settings


CHECKS: tuple[Any, ...] = (
    settings_checks.check_data_dir,
    settings_checks.check_equal_secrets,
    settings_checks.check_hosts,
    settings_checks.check_mail,
    settings_checks.check_numbers,
    settings_checks.check_other_services,
    settings_checks.check_outbound,
    settings_checks.check_proxies,
    settings_checks.check_readable,
    settings_checks.check_sender,
    settings_checks.check_support_email,
)


def test_nothing_is_wrong_with_the_defaults(production: Any) -> None:
    assert [message for check in CHECKS for message in check(None)] == []


# --- Numbers ---


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_each_number_has_bounds_that_its_default_keeps(name: str, production: Any) -> None:
    assert name in as_read.NUMBERS
    least, most = BOUNDS[name]
    assert least <= as_read.NUMBERS[name] <= most
    for value in (-1, least - 1, most + 1):
        production.NUMBERS = as_read.NUMBERS | {name: value}
        found = [message for message in settings_checks.check_numbers(None) if name in message.msg]
        assert found[0].id in ("devportal.E011", "devportal.E012")
        assert found[0].is_serious()


def test_every_number_of_days_can_be_taken_from_the_time() -> None:
    days = [name for name in as_read.NUMBERS if name.endswith("_DAYS")]
    assert len(days) > 20
    for name in days:
        _, most = BOUNDS.get(name, (0, float("inf")))
        assert clock.now().year - most / 365 > 0, f"{name} has no bound, so tasks and pages fail with a large value"


def test_outside_of_production_what_is_only_unusual_is_a_warning(settings: Any) -> None:
    settings.NUMBERS = as_read.NUMBERS | {"ACCESS_TOKEN_SECONDS": 5, "CLIENT_REQUESTS_PER_MINUTE": 0}
    assert serious(settings_checks.check_numbers) == [False, True]


def test_a_number_without_bounds_of_its_own_is_not_negative(settings: Any) -> None:
    settings.NUMBERS = as_read.NUMBERS | {"SOME_NEW_SECONDS": -1}
    (found,) = settings_checks.check_numbers(None)
    assert (found.id, found.is_serious()) == ("devportal.E011", True)
    assert "SOME_NEW_SECONDS" in found.msg


@pytest.mark.parametrize("ahead", [3600, 3601])
def test_a_key_is_published_before_it_signs(settings: Any, ahead: int) -> None:
    changed = {"SIGNING_KEY_LIFETIME_SECONDS": 3600, "SIGNING_KEY_PUBLISH_AHEAD_SECONDS": ahead}
    settings.NUMBERS = as_read.NUMBERS | changed
    assert "E012" in ids(settings_checks.check_numbers)


def test_no_publish_ahead_is_refused(settings: Any) -> None:
    settings.NUMBERS = as_read.NUMBERS | {"SIGNING_KEY_PUBLISH_AHEAD_SECONDS": 0}
    assert serious(settings_checks.check_numbers) == [True]


def test_the_documents_say_the_bounds() -> None:
    rows = re.findall(r"^\| (`.*`) \| ([\d,]+ to [\d,]+) \|$", document(), re.MULTILINE)
    told = {name: bounds for names, bounds in rows for name in re.findall(r"`(\w+)`", names)}
    wanted = {name: f"{least:,} to {most:,}" for name, (least, most) in BOUNDS.items()}
    assert told == wanted, "“Bounds of numbers” of docs/settings.md differs from devportal/settings/environment.py"


def document() -> str:
    return (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_each_check_is_documented() -> None:
    raised = set()
    for source in ("core/settings_checks.py", "oidc/checks.py", "core/limits/checks.py"):
        raised |= set(re.findall(r"\b[EW]0\d\d\b", (ROOT / source).read_text(encoding="utf-8")))
    assert set(re.findall(r"^\| `devportal\.(\w+)` \|", document(), re.MULTILINE)) >= raised


# --- Hosts, proxies, secrets, mail, folders, requests that leave ---

HOSTS, PROXIES = settings_checks.check_hosts, settings_checks.check_proxies
MAIL, SENDER = settings_checks.check_mail, settings_checks.check_sender
CONTACT, OUTBOUND = settings_checks.check_support_email, settings_checks.check_outbound
PROXY_IN_FRONT, ANY_CONTACT = settings_checks.check_proxy_in_front, settings_checks.check_contact

V6 = {"AUTH_URL": "https://[2001:db8::7]:8443", "BASE_URL": "https://[2001:db8::7]:8443", "ADMIN_URL": ""}
NO_CONTACT = {"SUPPORT_EMAIL": "", "HELP_URL": ""}
# The settings that differ, the check, and the message; "E" errors are serious.
WRONG: list[tuple[Check, str, dict[str, Any]]] = [
    (HOSTS, "E013", {"BASE_URL": "http://api.example.com"}),
    (HOSTS, "E014", {"ALLOWED_HOSTS": ["auth.example.com", "*"]}),
    (HOSTS, "E023", {"ALLOWED_HOSTS": []}),
    (HOSTS, "E023", {"ALLOWED_HOSTS": ["https://auth.example.com", "api.example.com"]}),
    (HOSTS, "E023", {"ALLOWED_HOSTS": ["api.example.com"]}),
    (HOSTS, "E023", V6 | {"ALLOWED_HOSTS": ["2001:db8::7"]}),
    *(
        (PROXIES, "E015", {"TRUSTED_PROXIES": ["192.0.2.7", proxy]})
        for proxy in ("0.0.0.0/0", "::/0", "10.0.0.0/7", "2000::/3", "proxy.internal", "10.0.0.0/33", "x")
    ),
    (PROXY_IN_FRONT, "W006", {}),
    (ANY_CONTACT, "W007", NO_CONTACT),
    *(
        (MAIL, "W002", {"EMAIL_USE_TLS": False, "EMAIL_HOST": host})
        for host in ("mail.example.com", "192.0.2.5", "10.0.0.5")
    ),
    *(
        (SENDER, "E020", {"DEFAULT_FROM_EMAIL": sender})
        for sender in (
            "", "nonsense", "A no-reply@example.com", "Acme, Inc. <no-reply@example.com>", "A\nB <a@example.com>",
            "A <x>",
        )
    ),
    *(
        (CONTACT, "E024", {"SUPPORT_EMAIL": contact})
        for contact in (
            "nonsense", "help@", "Help <help@example.com>", "help@example.com, b@example.com", "https://example.com",
            "a b@c.de", "help@localhost",
        )
    ),
    (OUTBOUND, "E018", {"OUTBOUND_LOOPBACK_PORT": 8080}),
    *(
        (OUTBOUND, "E019", {"DNS_SERVERS": ["192.0.2.1:53", server]})
        for server in (
            "dns.example.org", "dns.example.org:53", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:dns",
            "192.0.2", "2001:db8::1", "[192.0.2.1]:53", "[2001:db8::1]:", "[2001:db8::g]",
            "https://192.0.2.1/dns-query", "tcp:192.0.2.1",
        )
    ),
]  # fmt: skip
RIGHT: list[tuple[Check, dict[str, Any]]] = [
    (HOSTS, {"ALLOWED_HOSTS": [".example.com"]}),
    (HOSTS, V6 | {"ALLOWED_HOSTS": ["[2001:db8::7]"]}),
    *(
        (PROXIES, {"TRUSTED_PROXIES": [proxy]})
        for proxy in ("10.0.0.0/8", "fd00::/8", "fc00::/7", "192.0.2.7", "::1", "10.1.2.3/8")
    ),
    (PROXY_IN_FRONT, {"TRUSTED_PROXIES": ["192.0.2.7"]}),
    (ANY_CONTACT, NO_CONTACT | {"SUPPORT_EMAIL": "help@example.com"}),
    (ANY_CONTACT, NO_CONTACT | {"HELP_URL": "https://help.example.com"}),
    *((MAIL, {"EMAIL_USE_TLS": False, "EMAIL_HOST": host}) for host in ("localhost", "127.0.0.1", "::1")),
    *(
        (SENDER, {"DEFAULT_FROM_EMAIL": sender})
        for sender in ("a@example.com", "Müller <a@localhost>", '"Acme, Inc." <no-reply@xn--mller-kva.de>')
    ),
    *((CONTACT, {"SUPPORT_EMAIL": contact}) for contact in ("", "help@example.com", "hilfe@xn--mller-kva.de")),
    (OUTBOUND, {"ENVIRONMENT": "embedded", "OUTBOUND_LOOPBACK_PORT": 8080}),
    *(
        (OUTBOUND, {"DNS_SERVERS": [server]})
        for server in ("192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]", "[2001:db8::1]:53")
    ),
]


def change(settings: Any, changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        setattr(settings, name, value)


@pytest.mark.parametrize(("check", "number", "changes"), WRONG)
def test_a_wrong_setting_is_named_by_its_check(
    production: Any, check: Check, number: str, changes: dict[str, Any]
) -> None:
    change(production, changes)
    assert set(ids(check)) == {number}
    assert set(serious(check)) == {number.startswith("E")}


@pytest.mark.parametrize(("check", "changes"), RIGHT)
def test_a_right_setting_is_accepted(production: Any, check: Check, changes: dict[str, Any]) -> None:
    change(production, changes)
    assert ids(check) == []


def test_a_missing_host_is_named_with_its_url(production: Any) -> None:
    production.ALLOWED_HOSTS = ["api.example.com"]
    assert "AUTH_URL" in settings_checks.check_hosts(None)[0].msg


@pytest.mark.parametrize("number", ["W006", "W007"])
def test_only_the_deployment_check_warns_of_a_missing_proxy_and_contact(production: Any, number: str) -> None:
    change(production, NO_CONTACT)
    assert f"devportal.{number}" in {message.id for message in run_checks(include_deployment_checks=True)}
    assert f"devportal.{number}" not in {message.id for message in run_checks()}


@pytest.mark.parametrize(
    "changes",
    [
        {"SECRET_KEY": "k" * 40},
        {"SECRET_KEY_FALLBACKS": ["old" * 20, "k" * 40]},
        {"KEY_ENCRYPTION_KEY_FALLBACKS": ["s" * 40]},
        {"BILLING_SECRET": "s" * 40},
        {"SOURCE_TOKEN": "k" * 40},
        {"BILLING_SECRET": "b" * 40, "SOURCE_TOKEN": "b" * 40},
    ],
)
def test_one_secret_for_two_purposes(production: Any, changes: dict[str, Any]) -> None:
    change(production, changes)
    found = settings_checks.check_equal_secrets(None)
    assert [message.id for message in found] == ["devportal.E016"]
    assert "sss" not in str(found)
    assert "kkk" not in str(found)


def test_a_key_may_stand_among_its_own_fallbacks(production: Any) -> None:
    production.SECRET_KEY_FALLBACKS, production.KEY_ENCRYPTION_KEY_FALLBACKS = ["s" * 40], ["k" * 40]
    assert ids(settings_checks.check_equal_secrets) == []


WRONG_URLS = (
    "javascript:alert(1)",
    "example.com/help",
    "ftp://example.com",
    "https://[::1",
    "https://x:99999/",
    "http://a b",
)


@pytest.mark.parametrize("name", settings_checks.URLS)
def test_only_web_urls_can_be_requested_or_linked_to(production: Any, name: str) -> None:
    for url in WRONG_URLS:
        setattr(production, name, url)
        found = settings_checks.check_other_services(None)
        assert [(message.id, message.is_serious()) for message in found] == [("devportal.E022", True)], url
        assert name in found[0].msg
    for url in ("https://example.com/help?a=ä#b", "http://127.0.0.1:8080/profile"):
        setattr(production, name, url)
        assert ids(settings_checks.check_other_services) == []


@pytest.mark.parametrize("token", ["a\nb", "a b", "äöü"])
def test_a_credential_that_no_header_can_contain_is_rejected_but_not_quoted(production: Any, token: str) -> None:
    production.SOURCE_TOKEN = token
    found = settings_checks.check_other_services(None)
    assert [(message.id, token in message.msg) for message in found] == [("devportal.E022", False)]


def test_an_invalid_folder_for_uploads(production: Any, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for folder in (file, file / "below"):
        production.DATA_DIR = folder
        assert ids(settings_checks.check_data_dir) == ["W003"]
    production.DATA_DIR = tmp_path / "not" / "there" / "yet"
    assert ids(settings_checks.check_data_dir) == []


def test_a_folder_for_uploads_that_this_user_may_not_enter(production: Any, tmp_path: Path) -> None:
    production.DATA_DIR = tmp_path / "data"
    with another_user(tmp_path):
        assert ids(settings_checks.check_data_dir) == ["W003"]


# --- Where they run ---


@pytest.mark.parametrize(
    ("name", "value", "number"),
    [
        ("LOG_FORMAT", "xml", "E051"),
        ("METRICS_PORT", 70_000, "E050"),
        ("METRICS_ADDRESS", "nonsense", "E050"),
        ("METRICS_ADDRESS", "127.0.0.1:9000", "E050"),
        ("METRICS_ADDRESS", "metrics.internal", "E050"),
    ],
)
def test_checks_of_telemetry_also_stop_celery_and_wsgi_servers(
    settings: Any, name: str, value: Any, number: str
) -> None:
    assert f"devportal.{number}" not in settings_checks.find_dangers()
    setattr(settings, name, value)
    dangers = settings_checks.find_dangers()
    assert f"devportal.{number}" in dangers
    assert name in dangers


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::", "2001:db8::1"])
def test_metrics_may_be_served_on_every_ip_address(settings: Any, address: str) -> None:
    settings.METRICS_ADDRESS = address
    assert "devportal.E050" not in settings_checks.find_dangers()


def run(*command: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    """Run a process of the service with settings for production; it has 60 s to refuse them."""
    kept = {name: value for name, value in os.environ.items() if name not in plugin.SETTINGS}
    with keeper.folder() as home:
        env = kept | PRODUCTION | {"DATA_DIR": str(home)} | changes
        return subprocess.run(
            [sys.executable, *(part.format(home=home) for part in command)],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


PROCESSES = {
    "serve": ("manage.py", "serve"),
    "worker": ("-m", "celery", "-A", "devportal", "worker", "--pool", "solo"),
    "beat": ("-m", "celery", "-A", "devportal", "beat", "--schedule", "{home}/schedule"),
    "wsgi": ("-c", "import devportal.wsgi"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROCESSES)
def test_each_kind_of_process_refuses_and_names_the_variable(name: str) -> None:
    wrong = {"TRUSTED_PROXIES": "proxy.internal", "ACCESS_TOKEN_SECONDS": "abc", "DEBUG": "maybe", "LOG_FORMAT": "xml"}
    done = run(*PROCESSES[name], **wrong)
    assert done.returncode != 0
    for told in ("TRUSTED_PROXIES: 'proxy", "ACCESS_TOKEN_SECONDS must be", "DEBUG must be", "LOG_FORMAT must"):
        assert told in done.stderr, done.stderr[-3000:]
    assert ("Traceback" in done.stderr) == (name == "wsgi")  # a server learns it from an exception


@pytest.mark.slow
def test_a_folder_that_cannot_be_made_is_named_in_the_embedded_environment(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("manage.py", "check", ENVIRONMENT="embedded", DATA_DIR=str(tmp_path / "file" / "data"))
    assert done.returncode == 1
    assert "DATA_DIR can't be created" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_values_that_can_not_be_read_are_named_without_a_traceback() -> None:
    changes = {
        "DATABASE_URL": "postgresql://portal:hunter2/x@127.0.0.1:9/portal",
        "REPLICA_DATABASE_URL": "replica",
        "EMAIL_URL": "smtp+tls://portal:hunter2#x@mail.example.com:587",
        "MEDIA_STORAGE_URL": "s3://key:hunter2/x@s3.example.com/pictures",
        "DATABASE_POOLING": "session",
        "LOG_LEVEL": "verbose",
        "SECRET_KEY_FILE": "/nonexistent",
        "SERVICE_NAME": "Open\nport",
    }
    done = run("manage.py", "check", **changes)
    assert done.returncode == 1
    for name in changes:
        assert name in done.stderr
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"REPLICA_DATABASE_URL": "sqlite:///other.sqlite3"},
        {
            "ENVIRONMENT": "embedded",
            "DATABASE_URL": "",
            "REPLICA_DATABASE_URL": "postgresql://portal@127.0.0.1:9/portal",
        },
    ],
)
def test_a_database_that_is_no_replica_of_the_first_is_named(changes: dict[str, str]) -> None:
    """The first would never be used, and the second has other rows."""
    done = run("manage.py", "check", **changes)
    assert "REPLICA_DATABASE_URL" in done.stderr, done.stderr
    assert done.returncode == 1


@pytest.mark.slow
def test_mail_can_be_sent_in_the_name_of_every_service() -> None:
    name = 'The "Best", [Acme] @ Home: Müller; Söhne'
    # What Django's SMTP backend does with the sender.
    send = "from django.core.mail.message import sanitize_address as s; print(s(settings.DEFAULT_FROM_EMAIL, 'utf-8'))"
    done = run("manage.py", "shell", "-c", f"from django.conf import settings; {send}", SERVICE_NAME=name)
    assert done.returncode == 0, done.stderr
    assert "no-reply@api.example.com" in done.stdout


@pytest.mark.slow
def test_the_level_of_logs_may_be_in_lower_case() -> None:
    assert run("manage.py", "check", LOG_LEVEL="warning").returncode == 0
