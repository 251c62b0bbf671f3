"""Write the software bill of materials (CycloneDX 1.6, JSON) of the packages in requirements/extras.txt: `make sbom`.

The same pins and installed packages result in the same file, byte for byte: it has no time and no serial number.
Versions, hashes and dependencies are read from the pins, and licences from the installed packages, as their authors
declare them. A package for another system is not installed here, so its licence is left out.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import License, LicenseAcknowledgement
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from devportal import __version__

PINS = Path(__file__).resolve().parent.parent / "requirements" / "extras.txt"
_NAME = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?==(?P<version>[^\s;]+)(?:\s*;\s*(?P<marker>[^\\]+?))?\s*\\?$"
)
_LONGEST_NAME = 80  # characters of a licence's name; a longer text is the licence itself
_licenses = LicenseFactory()


@dataclass
class Pin:
    """One package of the file: its version, the hashes of its files, and the packages that need it."""

    name: str
    version: str
    marker: str
    hashes: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    is_asked: bool = False  # one of our requirements files lists it


def read_pins(text: str) -> list[Pin]:
    """Return the packages that a file of `uv pip compile` pins. Raises ValueError for a line that it can't parse."""
    pins: list[Pin] = []
    for line in filter(str.strip, text.splitlines()):
        if found := _NAME.fullmatch(line):
            pins.append(Pin(found["name"], found["version"], (found["marker"] or "").strip()))
        elif digest := re.fullmatch(r"\s+--hash=sha256:([0-9a-f]{64})(?: \\)?", line):
            pins[-1].hashes.append(digest[1])
        elif re.fullmatch(r"\s+#\s+(?:via\s+)?-r \S+", line):
            pins[-1].is_asked = True
        elif parent := re.fullmatch(r"\s+#\s+(?:via\s*)?([A-Za-z0-9._-]*)", line):
            pins[-1].parents += [parent[1]] if parent[1] else []
        elif not line.lstrip().startswith("#"):
            raise ValueError(f"not a pin: {line}")
    return pins


def _declared(about: PackageMetadata) -> Iterator[License]:
    """Yield the licences that a package declares: its SPDX expression, or else its short text or its classifiers."""
    for expression in about.get_all("License-Expression") or ():
        yield _licenses.make_from_string(expression, license_acknowledgement=LicenseAcknowledgement.DECLARED)
        return
    named = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or () if line.startswith("License ::")]
    words = "".join(about.get_all("License") or ()).strip()
    if words and "\n" not in words and len(words) <= _LONGEST_NAME:
        named = [words]
    for name in sorted({*named} - {"OSI Approved"}):
        yield _licenses.make_from_string(name, license_acknowledgement=LicenseAcknowledgement.DECLARED)


def _component(pin: Pin) -> Component:
    purl = PackageURL("pypi", name=re.sub(r"[-_.]+", "-", pin.name).lower(), version=pin.version)
    try:
        licenses = list(_declared(metadata(pin.name)))
    except PackageNotFoundError:
        licenses = []
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(str(purl)),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in pin.hashes],
        comment="The files of this version, each with its own hash; one of them is installed.",
    )
    return Component(
        name=pin.name,
        version=pin.version,
        bom_ref=str(purl),
        purl=purl,
        scope=ComponentScope.OPTIONAL if pin.marker else ComponentScope.REQUIRED,
        licenses=licenses,
        external_references=[files],
        properties=[Property(name="cdx:python:requirement:marker", value=pin.marker)] if pin.marker else [],
    )


def build(pins: list[Pin]) -> str:
    """Return the document as JSON that has passed the schema's strict validation. Raises ValueError otherwise."""
    root = Component(
        name="openport",
        version=__version__,
        type=ComponentType.APPLICATION,
        bom_ref=f"openport@{__version__}",
        licenses=[_licenses.make_from_string("Apache-2.0")],
    )
    components = {pin.name: _component(pin) for pin in pins}
    bom = Bom(components=components.values())
    bom.serial_number = bom.metadata.timestamp = None  # type: ignore[assignment]  # they would differ every time
    bom.metadata.component = root
    needs: dict[str, list[Component]] = {name: [] for name in components}
    asked = []
    for pin in pins:
        for parent in pin.parents:
            needs[parent].append(components[pin.name])
        if pin.is_asked:
            asked.append(components[pin.name])
    bom.register_dependency(root, asked)
    for name, needed in needs.items():
        bom.register_dependency(components[name], needed)
    text = JsonV1Dot6(bom).output_as_string(indent=2)
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise ValueError(str(wrong))
    return text + "\n"


if __name__ == "__main__":
    sys.stdout.write(build(read_pins(PINS.read_text(encoding="utf-8"))))
