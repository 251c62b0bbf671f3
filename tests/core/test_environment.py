"""Reading settings: values that can't be read are named, without a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from core.environment import Env, create_private_folder, embedded_secret, host_of, is_writable
from tests.users import another_user


@pytest.mark.parametrize(
    ("text", "cast", "problem"),
    [
        ("abc", "int", "X must be a whole number."),
        ("1.5", "int", "X must be a whole number."),
        ("5 s", "int", "X must be a whole number."),
        ("ten", "float", "X must be a number."),
        ("nan", "float", "X must be a number."),
        ("inf", "int", "X must be a whole number."),
        ("inf", "float", "X must be a number."),
        ("maybe", "bool", "X must be true or false."),
    ],
)
def test_a_setting_that_is_no_number_is_named(
    monkeypatch: pytest.MonkeyPatch, text: str, cast: str, problem: str
) -> None:
    monkeypatch.setenv("X", text)
    env = Env()
    default = False if cast == "bool" else 7
    assert getattr(env, cast)("X", default) == default
    assert env.problems == [problem]


@pytest.mark.parametrize(
    ("text", "read"), [("12", 12), (" 12\n", 12), ("-3", -3), ("", 7), ("9" * 400, int("9" * 400))]
)
def test_numbers_are_read(monkeypatch: pytest.MonkeyPatch, text: str, read: int) -> None:
    monkeypatch.setenv("X", text)
    env = Env()
    assert env.int("X", 7, between=(1, 20)) == read
    assert (env.numbers, env.bounds, env.problems) == ({"X": read}, {"X": (1, 20)}, [])


@pytest.mark.parametrize(
    ("text", "read"),
    [("", []), ("a,b", ["a", "b"]), ("a\n", ["a"]), ("one\ntwo, with a comma\n", ["one", "two, with a comma"])],
)
def test_lists_of_secrets_come_from_variables_and_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, read: list[str]
) -> None:
    monkeypatch.setenv("X", text)
    assert Env().secrets("X") == read
    file = tmp_path / "secrets"
    file.write_text(text)
    name = f"Y{len(text)}"  # a file is read once
    monkeypatch.setenv(f"{name}_FILE", str(file))
    assert Env().secrets(name) == read


@pytest.mark.parametrize("text", ["$ecret", "$HOME", "$X", r"\$a"])
def test_a_value_with_a_dollar_sign_is_read_as_it_is(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The library reads "$NAME" as the name of another variable, so a secret such as "$ecret" would become empty."""
    monkeypatch.setenv("X", text)
    env = Env()
    assert (env.str("X", ""), env.list("X", default=[]), env.secrets("X")) == (text, [text], [text])
    assert env.int("X", 7) == 7
    assert env.problems == ["X must be a whole number."]


@pytest.mark.parametrize(
    "url",
    [
        "portal",
        "mysql://portal:hunter2@db.example.com/portal",
        "postgresql://portal:hunter2@db.example.com",
        "postgresql://portal:hunter2@db.example.com:99999/portal",
        "postgresql://portal:hunter2/x@db.example.com/portal",
        "//portal:hunter2@db.example.com/portal",
        "postgresql://portal:hunter2@[::1/portal",
    ],
)
def test_a_database_that_can_not_be_read_is_named_without_its_password(
    url: str, recwarn: pytest.WarningsRecorder
) -> None:
    env = Env()
    assert env.database("DATABASE_URL", url) == {}
    assert [str(warning.message) for warning in recwarn] == []
    (problem,) = env.problems
    assert problem.startswith("DATABASE_URL must have the form postgresql://")
    assert "hunter2" not in problem


@pytest.mark.parametrize(
    "url",
    ["postgresql://portal:a%2Fb@db.example.com:5432/portal?sslmode=require", "postgres:///portal", "sqlite:///x.db"],
)
def test_a_database_is_read(url: str) -> None:
    env = Env()
    assert env.database("DATABASE_URL", url)["NAME"] in ("portal", "x.db")
    assert env.problems == []


@pytest.mark.parametrize("query", ["sslmod=require", "sslmode=require&hunter2=x", "pool=true", "conninfo=x"])
def test_an_option_that_no_connection_can_have_is_named(query: str) -> None:
    """The library would reject it at each connection, so that the service answers 503 without an end."""
    env = Env()
    env.database("DATABASE_URL", f"postgresql://portal@db.example.com/portal?{query}")
    assert env.problems == ["The query of DATABASE_URL may only have connection options of psycopg."]


@pytest.mark.parametrize(
    "query",
    ["connect_timeout=5&options=-c%20lock_timeout%3D500", "prepare_threshold=2&conn_max_age=60", "sslmode=require"],
)
def test_options_of_connections_are_read(query: str) -> None:
    env = Env()
    assert env.database("DATABASE_URL", f"postgresql://portal@db.example.com/portal?{query}")["NAME"] == "portal"
    assert env.problems == []


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.com:587",
        "smtp+tls://",
        "smtp+tls://portal:hunter2@mail.example.com:99999",
        "smtp+tls://portal:hunter2/x@mail.example.com:587",
        "smtps://portal:hunter2@mail.example.com:465",  # would use STARTTLS, and never send an email
        "consolemail://",  # would print codes into the log
        "dummymail://",
    ],
)
def test_a_mail_server_that_can_not_be_read_is_named_without_its_password(url: str) -> None:
    env = Env()
    assert env.mail_server("EMAIL_URL", url) == {}
    (problem,) = env.problems
    assert problem.startswith("EMAIL_URL must have the form smtp+tls://")
    assert "hunter2" not in problem


def test_a_mail_server_is_read() -> None:
    env = Env()
    read = env.mail_server("EMAIL_URL", "smtp+ssl://portal:a%2Fb@mail.example.com:465")
    assert (read["EMAIL_HOST"], read["EMAIL_HOST_PASSWORD"], read["EMAIL_USE_SSL"]) == ("mail.example.com", "a/b", True)
    assert env.problems == []


@pytest.mark.parametrize(("text", "read"), [("", "none"), ("transaction\n", "transaction"), ("none", "none")])
def test_a_choice_is_read(monkeypatch: pytest.MonkeyPatch, text: str, read: str) -> None:
    monkeypatch.setenv("X", text)
    env = Env()
    assert (env.choice("X", "none", ("none", "transaction")), env.problems) == (read, [])


@pytest.mark.parametrize("text", ["session", "Transaction", "none,transaction"])
def test_another_value_than_the_choices_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("X", text)
    env = Env()
    assert env.choice("X", "none", ("none", "transaction")) == "none"
    assert env.problems == ["X must be one of none, transaction."]


def test_a_file_that_can_not_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    monkeypatch.setenv("MISSING_FILE", str(tmp_path / "missing"))
    monkeypatch.setenv("BINARY_FILE", str(tmp_path / "binary"))
    env = Env()
    assert (env.str("MISSING", ""), env.str("BINARY", "default")) == ("", "default")
    assert env.problems == [
        "The file that MISSING_FILE names can't be read: No such file or directory.",
        "The file that BINARY_FILE names can't be read: it is not UTF-8.",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_value_counts_as_not_set(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """An empty DATA_DIR would be the current folder, whose permissions would change; METRICS_ADDRESS every address."""
    for name in ("X", "ENVIRONMENT"):
        monkeypatch.setenv(name, text)
    env = Env()
    assert (env.str("X", "default"), env.list("X", default=["a"]), env.secrets("X")) == ("default", ["a"], [])
    # The checks reject it: the embedded environment must be chosen on purpose.
    assert env.str("ENVIRONMENT", "embedded") == ""


@pytest.mark.parametrize("url", ["", "auth.example.com", "https://[::1", "https://"])
def test_a_url_without_a_host_is_read_as_localhost(url: str) -> None:
    """The checks name it (`devportal.E002`)."""
    assert host_of(url) == "localhost"


def test_an_ipv6_address_is_accepted_as_a_host(tmp_path: Path) -> None:
    """Django compares the Host header with its brackets, and no mail server accepts one as a sender's host."""
    code = "import devportal.settings.environment as of; print(of.ALLOWED_HOSTS, of.DEFAULT_FROM_EMAIL)"
    urls = {"AUTH_URL": "http://[::1]:8000", "BASE_URL": "http://[::1]:8001"}
    given = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), **urls}
    done = subprocess.run(
        [sys.executable, "-c", code], env=given, cwd=settings.PROJECT_DIR, capture_output=True, text=True, check=True
    )
    assert done.stdout == """['[::1]', '127.0.0.1'] "Openport" <no-reply@localhost>\n"""


def test_a_folder_of_another_user_is_named_without_a_traceback(tmp_path: Path) -> None:
    """After `sudo make run`, for example."""
    create_private_folder(tmp_path / "data")
    with another_user(tmp_path):
        for folder in (tmp_path / "data", tmp_path / "more" / "data"):
            (problem,) = create_private_folder(folder)
            assert problem.startswith("DATA_DIR can't be created")
            assert embedded_secret(folder, "secret_key")
            assert not is_writable(folder)


def test_a_secret_of_another_user_is_named_and_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert create_private_folder(tmp_path) == []
    secret = embedded_secret(tmp_path, "key_encryption_key")
    assert embedded_secret(tmp_path, "key_encryption_key") == secret
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK and allowed(path, mode))
    (problem,) = create_private_folder(tmp_path)
    assert "The file key_encryption_key in DATA_DIR can't be read" in problem
    assert embedded_secret(tmp_path, "key_encryption_key") != secret
    assert (tmp_path / "key_encryption_key").read_text() == secret
