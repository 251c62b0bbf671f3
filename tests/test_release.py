"""What a release brings besides its code: licence, security policy, version and bill of materials."""

import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.test import Client as Browser

import devportal
from core import clock
from oidc.checks import check_security_contact

ROOT = Path(__file__).resolve().parents[1]
PINS = (ROOT / "requirements" / "extras.txt").read_text(encoding="utf-8")
SECURITY_TXT = "/.well-known/security.txt"


@pytest.fixture
def sbom() -> ModuleType:
    # It takes two seconds to import, which each test process would spend while it collects the tests.
    from deploy import sbom

    return sbom


@pytest.fixture(scope="module")
def document() -> str:
    """The bill of materials as `make sbom` writes it."""
    assert "PYTHONPATH=. $(PY) deploy/sbom.py" in (ROOT / "Makefile").read_text(encoding="utf-8")
    made = subprocess.run(
        [sys.executable, "deploy/sbom.py"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout


@pytest.fixture(scope="module")
def components(document: str) -> dict[str, Any]:
    return {found["name"]: found for found in json.loads(document)["components"]}


# --- The bill of materials ---


def test_it_lists_every_pinned_package_with_version_and_hashes(components: dict[str, Any]) -> None:
    pinned = dict(re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)", PINS, flags=re.MULTILINE))
    assert len(pinned) > 50
    assert {name: found["version"] for name, found in components.items()} == pinned
    hashes = [digest["content"] for found in components.values() for digest in found["externalReferences"][0]["hashes"]]
    assert sorted(hashes) == sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", PINS))
    assert all(found["purl"] == f"pkg:pypi/{name}@{found['version']}" for name, found in components.items())


def test_it_is_valid_and_always_the_same(document: str, sbom: ModuleType) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(document) is None
    assert document == sbom.build(sbom.read_pins(PINS))
    assert not {"serialNumber", "timestamp"} & {*json.loads(document), *json.loads(document)["metadata"]}


def test_it_names_no_registry_and_no_place_on_a_machine(document: str) -> None:
    urls = set(re.findall(r"[a-z]+://[^\s\"/]+", document))
    assert urls <= {"http://cyclonedx.org"}  # the schema that it follows
    assert not re.search(r"\"[^\"]*(/home/|/root|/work|/tmp|site-packages|[A-Z]:\\\\)", document)


def test_what_is_installed_here_has_its_licence(components: dict[str, Any]) -> None:
    without = {name for name, found in components.items() if "licenses" not in found}
    # For other systems or versions of Python; not installed here.
    assert all(components[name]["scope"] == "optional" for name in without), without
    assert components["django"]["licenses"][0]["license"]["id"] == "BSD-3-Clause"


def test_it_says_what_needs_what(document: str) -> None:
    needs = {found["ref"]: found.get("dependsOn", []) for found in json.loads(document)["dependencies"]}
    root = next(found for ref, found in needs.items() if ref.startswith("openport@"))
    assert any(ref.startswith("pkg:pypi/django@") for ref in root)
    assert any(ref.startswith("pkg:pypi/packaging@") for ref in root)
    assert not any(ref.startswith("pkg:pypi/sqlparse@") for ref in root)
    django = next(found for ref, found in needs.items() if ref.startswith("pkg:pypi/django@"))
    assert any(ref.startswith("pkg:pypi/sqlparse@") for ref in django)


@pytest.mark.parametrize("line", ["django>=5", "--index-url https://example.com", "    --hash=md5:00", "git+https://x"])
def test_a_line_that_is_no_pin_stops_it(line: str, sbom: ModuleType) -> None:
    with pytest.raises(ValueError, match="not a pin"):
        sbom.read_pins(f"django==5.2 \\\n{line}\n")


# --- The version ---


def test_the_version_stands_in_one_place(document: str) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", devportal.__version__)
    assert json.loads(document)["metadata"]["component"]["version"] == devportal.__version__
    live = Browser().get("/health/live")
    assert live.json() == {"status": "ok", "version": devportal.__version__}


# --- security.txt (RFC 9116) ---


def test_without_a_contact_there_is_none() -> None:
    answer = Browser().get(SECURITY_TXT)
    assert (answer.status_code, answer["Content-Type"]) == (404, "text/plain; charset=utf-8")


def test_it_names_the_contacts_in_their_order(settings: Any) -> None:
    settings.SECURITY_CONTACT = ["security@example.com", "https://example.com/report"]
    answer = Browser().get(SECURITY_TXT)
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    lines = answer.content.decode().splitlines()
    assert "# Report leaked API keys and client secrets at http://localhost:8000/leaked-credentials" in lines
    fields = [line.split(": ", 1) for line in lines if not line.startswith("#")]
    assert [value for name, value in fields if name == "Contact"] == [
        "mailto:security@example.com",
        "https://example.com/report",
    ]
    named = dict(fields)
    assert named["Canonical"] == f"{settings.AUTH_URL}{SECURITY_TXT}"
    assert len([name for name, _ in fields if name == "Expires"]) == 1
    soon, late = (clock.now() + timedelta(days=days) for days in (80, 365))
    assert f"{soon:%Y-%m-%dT}" < named["Expires"] < f"{late:%Y-%m-%dT}"


def test_it_names_the_policy_where_there_is_one(settings: Any) -> None:
    settings.SECURITY_CONTACT = ["security@example.com"]
    assert b"Policy" not in Browser().get(SECURITY_TXT).content
    settings.SECURITY_POLICY = "https://example.com/disclosure"
    assert b"\nPolicy: https://example.com/disclosure\n" in Browser().get(SECURITY_TXT).content
    assert check_security_contact(None) == []
    for wrong in ("http://example.com/", "https://a b", "https://a\nExpires: never", "policy"):
        settings.SECURITY_POLICY = wrong
        assert [found.id for found in check_security_contact(None)] == ["devportal.E041"]


@pytest.mark.parametrize(
    "contact", ["nobody", "http://example.com/", "javascript:alert(1)", "a@b\nExpires: never", "mailto:", "https://a b"]
)
def test_an_invalid_contact_stops_the_start(settings: Any, contact: str) -> None:
    settings.SECURITY_CONTACT = ["security@example.com", "tel:+49-30-123456"]
    assert check_security_contact(None) == []
    settings.SECURITY_CONTACT.append(contact)
    assert [found.id for found in check_security_contact(None)] == ["devportal.E041"]
