"""Why a check found no proof of a domain: codes with parameters, and the table of their texts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from devportal.lib import outbound
from devportal.lib.messages import fill_in
from oidc.models import ProjectDomain


class Code(StrEnum):
    """Why what was published proves nothing; a request that brought no answer has a code of `outbound.Code`."""

    NO_RECORD = "no_record"
    OTHER_RECORDS = "other_records"
    SERVER_ERROR = "server_error"
    NO_FILE = "no_file"
    OTHER_CONTENT = "other_content"


TEXTS: Mapping[str, str] = {
    Code.NO_RECORD: "There is no such TXT record.",
    Code.OTHER_RECORDS: "There is a TXT record with this name, but none with this value.",
    Code.SERVER_ERROR: "The web server answered with an error ({status}).",
    Code.NO_FILE: "There is no such file: the web server answered {status}.",
    Code.OTHER_CONTENT: "There is a file, but its content is not exactly the value.",
}
PROOFS = {ProjectDomain.Method.DNS: "DNS record", ProjectDomain.Method.FILE: "File"}


@dataclass(frozen=True)
class Problem:
    """Why there is no proof of one kind: an entry of `ProjectDomain.problems`."""

    proof: str  # of ProjectDomain.Method
    code: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the problem as it is stored."""
        return asdict(self)

    @property
    def label(self) -> str:
        """The kind of proof, as pages and mails name it."""
        return PROOFS[ProjectDomain.Method(self.proof)]

    @property
    def text(self) -> str:
        """The sentence that says what the problem is."""
        if self.code in TEXTS:
            return fill_in(TEXTS[self.code], self.parameters)
        return outbound.text_of(self.code, self.parameters)


def problems_of(domain: ProjectDomain) -> list[Problem]:
    """Return why the last check of a domain found no proof; empty if it found one, or there was none yet."""
    return [Problem(**stored) for stored in domain.problems]
