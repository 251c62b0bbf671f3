"""Read deploy/compose.yaml as compose does, as far as that file needs it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).resolve().parents[2] / "deploy" / "compose.yaml"
# `$$`, `${NAME}`, `${NAME:-default}` and `${NAME:?message}`
VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?::([-?])([^}]*))?\})")


class UnsetError(Exception):
    """A variable that the file requires is missing."""


def read(**variables: str) -> dict[str, Any]:
    """Return the content of the file with these variables. Raises UnsetError if a required one is missing."""

    def value_of(found: re.Match[str]) -> str:
        dollar, name, kind, text = found.groups()
        if dollar:
            return "$"
        if variables.get(name):
            return variables[name]
        if kind != "-":
            raise UnsetError(name)
        return str(text)

    def filled(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: filled(value) for key, value in node.items()}
        if isinstance(node, list):
            return [filled(value) for value in node]
        return VARIABLE.sub(value_of, node) if isinstance(node, str) else node

    read: dict[str, Any] = filled(yaml.safe_load(FILE.read_text(encoding="utf-8")))
    return read


@dataclass(frozen=True)
class Role:
    """A service of the file that runs from our image."""

    name: str
    service: dict[str, Any]

    @property
    def command(self) -> list[str]:
        return [str(word) for word in self.service["command"]]

    @property
    def environment(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.service["environment"].items()}

    @property
    def check(self) -> list[str]:
        """The command of the health check; empty for a role that ends by itself."""
        kind, *words = self.service.get("healthcheck", {}).get("test", ["NONE"])
        return ["sh", "-c", *words] if kind == "CMD-SHELL" else words

    def flags(self, secrets: Path, volumes: str) -> list[str]:
        """Return podman's flags for the user, file systems, rights, secrets and volumes in the file."""
        service = self.service
        flags = ["--user", service["user"], *(["--read-only"] if service["read_only"] else [])]
        for name, flag in (("tmpfs", "--tmpfs"), ("cap_drop", "--cap-drop")):
            flags += [word for value in service[name] for word in (flag, value)]
        for value in service["security_opt"]:
            flags += ["--security-opt", value.replace(":true", "")]
        for name in service["secrets"]:
            flags += ["--volume", f"{secrets / name}:/run/secrets/{name}:ro"]
        for value in service["volumes"]:
            flags += ["--volume", f"{volumes}-{value}"]
        return flags


def roles(**variables: str) -> dict[str, Role]:
    """Return the services that run from our image, by name."""
    services = read(**variables)["services"]
    ours = services["web"]["image"]
    return {name: Role(name, service) for name, service in services.items() if service["image"] == ours}
