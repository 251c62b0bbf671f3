"""Rules for the addresses that clients register, redirect URIs and pages alike: a condition, and its message."""

from collections.abc import Callable, Iterable
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ValidationError
from oauthlib.uri_validate import is_absolute_uri

from devportal.lib import hosts, split_hosts

# What makes an address wrong, and what its developer is told.
Rule = tuple[Callable[[str], object], str]

LOOPBACK_HOSTS = ("localhost", "127.0.0.1")
DEFAULT_PORTS = {"http": 80, "https": 443}


def apply_rules(rules: Iterable[Rule], uri: str) -> None:
    """Raise ValidationError with the message of the first rule whose condition holds for `uri`."""
    for is_wrong, message in rules:
        if is_wrong(uri):
            raise ValidationError(message)


def split_web_address(uri: str) -> SplitResult | None:
    """Return the parts of an absolute URL that has a host, None for anything else."""
    try:
        parts = urlsplit(uri)
        return parts if parts.hostname and parts.port != 0 and is_absolute_uri(uri) else None
    except ValueError:  # a port beyond 65535, a bracket without its fellow
        return None


def is_own_address(uri: str) -> bool:
    """Return whether a URL leads to this service, in any spelling of its hosts."""
    return _place(uri) in {_place(address) for address in split_hosts.current().addresses.values()}


def _place(uri: str) -> tuple[str, int | None]:
    return hosts.host_and_port(uri, DEFAULT_PORTS.get(urlsplit(uri).scheme))


def _of_authority(is_wrong: Callable[[str], object]) -> Callable[[str], object]:
    return lambda uri: is_wrong(hosts.authority_of(uri))


def too_long(max_length: int) -> Rule:
    """Return the rule for addresses of more than `max_length` characters."""
    return lambda uri: len(uri) > max_length, f"An address may have at most {max_length} characters."


def own_address(exception: Callable[[], str] | None = None) -> Rule:
    """Return the rule for addresses of this service; `exception` returns the one that is allowed."""
    return (
        lambda uri: is_own_address(uri) and (exception is None or uri != exception()),
        "This is an address of the service itself.",
    )


NOT_ASCII: Rule = (
    lambda uri: any(character <= " " or character > "~" for character in uri),
    "An address holds no spaces and only ASCII characters; percent-encode the others.",
)
HAS_FRAGMENT: Rule = (lambda uri: "#" in uri, "Remove the part after #.")
HAS_USERINFO: Rule = (
    lambda uri: "@" in uri.partition("://")[2].partition("/")[0],
    "Remove the user name before @.",
)
# The rules of host and port.
HOST_RULES: tuple[Rule, ...] = tuple((_of_authority(is_wrong), message) for is_wrong, message in hosts.HOST_RULES)
