"""The files of deploy/ fit each other, the settings and the docs, and are what those who read them understand."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.image import compose
from tests.services.podman import run

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNITS = DEPLOY / "systemd"
VARIABLES = {"AUTH_HOST": "a", "API_HOST": "b", "ADMIN_HOST": "c", "DEFAULT_FROM_EMAIL": "Openport <a@b>"}
LASTING = ("web", "worker", "mailer", "sender", "beat")
# Of 100; systemd itself calls up to 40 "OK".
MOST_EXPOSED = 20


def services() -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = compose.read(**VARIABLES)["services"]
    return read


def documented() -> set[str]:
    """Return the variables that docs/settings.md has a row for."""
    return set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(encoding="utf-8"), re.M))


def assigned(text: str) -> dict[str, str]:
    """Return what a file of NAME=value sets in a shell that reads it."""
    shell = "set -a; . /dev/stdin; exec env -0"
    said = subprocess.run(["env", "-i", "sh", "-euc", shell], input=text, capture_output=True, text=True, check=True)
    found = dict(line.split("=", 1) for line in said.stdout.split("\0") if line)
    return {name: value for name, value in found.items() if f"{name}=" in text}


# --- deploy/compose.yaml ---


def test_all_roles_run_from_one_image() -> None:
    assert set(compose.roles(**VARIABLES)) == {"migrate", *LASTING}
    assert services()["web"]["build"]["context"] == ".."


@pytest.mark.parametrize("name", sorted(compose.read(**VARIABLES)["services"]))
def test_every_container_has_no_more_rights_than_it_needs(name: str) -> None:
    service = services()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "network_mode", "pid", "devices"} & set(service)
    assert ("ports" in service) == (name == "proxy")
    assert ("healthcheck" in service) == (name != "migrate")


def test_only_containers_that_talk_to_each_other_share_a_network() -> None:
    joined = {name: set(service["networks"]) for name, service in services().items()}
    assert joined["database"] == joined["valkey"] == {"inside"}
    assert joined["proxy"] & joined["web"] == {"proxied"}
    networks = compose.read(**VARIABLES)["networks"]
    assert networks["inside"]["internal"] is networks["proxied"]["internal"] is True
    address = services()["proxy"]["networks"]["proxied"]["ipv4_address"]
    assert services()["web"]["environment"]["TRUSTED_PROXIES"] == address


def test_secrets_come_as_files_and_others_are_settings() -> None:
    for role in compose.roles(**VARIABLES).values():
        for name, value in role.environment.items():
            assert name.removesuffix("_FILE") in documented(), name
            if name.endswith("_FILE"):
                assert value.removeprefix("/run/secrets/") in role.service["secrets"]
        assert not {"SECRET_KEY", "KEY_ENCRYPTION_KEY", "DATABASE_URL", "EMAIL_URL"} & set(role.environment)


def test_everything_waits_for_the_migration_and_the_proxy_for_the_service() -> None:
    for name in LASTING:
        waits = services()[name]["depends_on"]
        assert waits["migrate"] == {"condition": "service_completed_successfully"}
        assert waits["database"] == waits["valkey"] == {"condition": "service_healthy"}
    assert services()["proxy"]["depends_on"] == {"web": {"condition": "service_healthy"}}


def test_every_queue_has_a_worker() -> None:
    routes: dict[str, Any] = getattr(settings, "CELERY_TASK_ROUTES", {})
    queues = {"celery", *(route["queue"] for route in routes.values())}
    words = [role.command for role in compose.roles(**VARIABLES).values() if "worker" in role.command]
    served = {queue for command in words for queue in command[command.index("--queues") + 1].split(",")}
    assert queues <= served
    assert served <= {"celery", "mail", "events"}


def test_the_store_of_limits_evicts_nothing() -> None:
    command = services()["valkey"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_the_example_sets_every_setting_without_a_default() -> None:
    given = assigned((DEPLOY / ".env.example").read_text(encoding="utf-8"))
    assert compose.read(**given)["services"]["web"]["environment"]["DEFAULT_FROM_EMAIL"].endswith("@example.com>")
    with pytest.raises(compose.UnsetError):
        compose.read()


# --- By hand ---


def test_the_environment_of_the_docs_is_the_one_that_is_shipped_and_can_be_read_by_a_shell() -> None:
    text = (DEPLOY / "environment.example").read_text(encoding="utf-8")
    told = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert text in re.sub(r"^ {3}", "", told, flags=re.MULTILINE)
    given = assigned(text)
    assert given["DEFAULT_FROM_EMAIL"] == "Openport <no-reply@example.com>"
    assert len(given) == len(text.splitlines())
    assert {name.removesuffix("_FILE") for name in given} <= documented()


def test_secrets_are_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    environment = os.environ | {
        "DATABASE": "db.example.com:5432/portal",
        "EMAIL_URL": "smtp+tls://mail.example.com:587",
    }
    run([str(DEPLOY / "make-secrets"), str(folder)], env=environment)
    made = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(made) == set(compose.read(**VARIABLES)["secrets"])
    assert len({made[name] for name in ("secret_key", "key_encryption_key", "database_password")}) == 3
    assert all(len(made[name]) >= 64 for name in ("secret_key", "key_encryption_key", "database_password"))
    assert made["database_url"] == f"postgresql://portal:{made['database_password']}@db.example.com:5432/portal"
    assert folder.stat().st_mode & 0o777 == 0o700
    run([str(DEPLOY / "make-secrets"), str(folder)], env=environment | {"EMAIL_URL": "smtp://other.example.com"})
    assert {path.name: path.read_text() for path in folder.iterdir()} == made


def test_secrets_of_an_interrupted_run_are_made_again(tmp_path: Path) -> None:
    """Such as after a full disk: an empty password or key would otherwise stay for ever."""
    for name in ("secret_key", "database_password", "email_url"):
        (tmp_path / name).touch(mode=0o444)
    (tmp_path / "key_encryption_key.new").touch(mode=0o444)
    run([str(DEPLOY / "make-secrets"), str(tmp_path)], env=os.environ | {"EMAIL_URL": "smtp://mail.example.com"})
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert set(made) == set(compose.read(**VARIABLES)["secrets"])
    assert all(len(text) >= 64 for name, text in made.items() if name != "email_url")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o444}


def test_the_build_context_is_a_list_of_folders() -> None:
    taken = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert {line[1:].partition("/")[0] for line in taken} <= {
        "LICENSE", "accounts", "api", "core", "devportal", "manage.py", "oidc", "requirements", "static", "templates",
    }  # fmt: skip


# --- systemd ---


def unit(path: Path) -> dict[str, list[str]]:
    """Return the settings of a unit, and of what it shares with the others."""
    found: dict[str, list[str]] = {}
    for file in (UNITS / "portal-.service.d" / "common.conf", path):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and line[0] not in "#[":
                name, _, value = line.partition("=")
                found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("path", sorted(UNITS.glob("*.service")), ids=lambda path: path.stem)
def test_units_run_as_an_unprivileged_user_and_can_write_to_one_folder(path: Path) -> None:
    found = unit(path)
    assert found["User"] == ["portal"]
    assert found["NoNewPrivileges"] == ["yes"]
    assert found["ProtectSystem"] == ["strict"]
    assert found["StateDirectory"] == ["portal"]
    assert found["EnvironmentFile"][0] == "/etc/portal/environment"
    assert all(line.startswith("/opt/portal/.venv/bin/") for line in found["ExecStart"])


def test_units_and_containers_do_the_same() -> None:
    def words(text: str) -> list[str]:
        return re.sub(r"^\S*/", "", text).split()

    ours = {path.stem: unit(path)["ExecStart"][0] for path in UNITS.glob("*.service")}
    roles = {name: " ".join(role.command) for name, role in compose.roles(**VARIABLES).items()}
    assert words(ours["portal-migrate"]) == words(roles["migrate"])
    assert words(ours["portal-beat"]) == words(roles["beat"])
    for queue, role in (("celery", "worker"), ("mail", "mailer"), ("events", "sender")):
        started = words(ours["portal-worker@"].replace("%i", queue))
        assert started[:-1] == words(roles[role])[:-1]
    wanted = (UNITS / "portal.target").read_text(encoding="utf-8")
    assert "portal-worker@celery.service portal-worker@mail.service portal-worker@events.service" in wanted


def test_each_worker_of_a_machine_can_serve_its_metrics() -> None:
    """Only one process can listen on a port, and the others would run without metrics."""
    wanted = (UNITS / "portal.target").read_text(encoding="utf-8")
    scraped = (DEPLOY / "prometheus" / "prometheus.yaml").read_text(encoding="utf-8")
    for role in ("worker", "web"):
        assert unit(UNITS / f"portal-{role}@.service")["EnvironmentFile"][1] == f"-/etc/portal/{role}-%i"
        targets = re.findall(r"127\.0\.0\.1:\d+", scraped.partition(f"openport-{role}")[2].partition("job_name")[0])
        assert len(set(targets)) == wanted.count(f"portal-{role}@")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on the PATH")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    units = tmp_path / "units"
    shutil.copytree(UNITS, units)
    for path in units.glob("*.service"):  # it looks whether the programs are there
        path.write_text(path.read_text().replace("/opt/portal/.venv/bin/", f"{tmp_path}/"))
    for name in ("python", "celery"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    files = sorted(str(path) for path in units.iterdir() if path.is_file())
    assert run(["systemd-analyze", "verify", *files]).stderr == ""
    for file in files:
        if file.endswith(".service"):
            run(["systemd-analyze", "security", "--offline=yes", f"--threshold={MOST_EXPOSED}", file])


# --- Packages ---


def test_worker_and_beat_start_from_what_production_installs() -> None:
    text = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^([\w.-]+)(?:\[.*\])?==", text, re.MULTILINE)
    script = str(Path(__file__).with_name("load_celery.py"))
    run([sys.executable, script, *pinned], cwd=ROOT)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run([sys.executable, script, *(name for name in pinned if name != "packaging")], cwd=ROOT)
    assert "No module named 'packaging'" in failed.value.__notes__[0]
