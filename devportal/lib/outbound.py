"""Requests to addresses that somebody outside has named, with every guard against SSRF.

docs/domains.md#requests-that-leave-the-service says which.
"""

from dataclasses import dataclass

SECONDS = 5.0  # of a whole request: resolving, connecting, redirects and reading
MAX_BYTES = 65_536  # of the body that is read
MAX_REDIRECTS = 3  # on the same host


class OutboundRefused(Exception):
    """Nothing usable came of a request.

    `code` is for programs (`private_address`, `timeout`, …), the text for the developer whose address it is.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Answer:
    """What an address answered: `url` after redirects, `body` cut at MAX_BYTES."""

    url: str
    status: int
    content_type: str
    body: bytes

    @property
    def text(self) -> str:
        """The body as text; what is no UTF-8 is replaced."""
        return self.body.decode("utf-8", "replace")


def fetch(url: str) -> Answer:
    """GET an https URL. Raises OutboundRefused."""
    raise OutboundRefused("unavailable", "The service asks no addresses yet.")


def txt_records(name: str) -> list[str]:
    """Return the TXT records of a name, each with its strings joined. Raises OutboundRefused."""
    raise OutboundRefused("unavailable", "The service asks no addresses yet.")
