"""Reasons why a request brought nothing usable: codes with parameters, and sentences for the URL's developer.

The sentences reveal nothing about the service's own networks: all IP addresses that are not public get the same one.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from core.messages import fill_in
from core.outbound.limits import MAX_BYTES, MAX_REDIRECTS, SECONDS

_SIZE = f"{MAX_BYTES // 1024} KB"
_TIME = f"{SECONDS:g} seconds"


class Code(StrEnum):
    """The reason why a request brought nothing usable."""

    # The URL itself (targets.py).
    URL = "url"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    PORT = "port"
    IP_LITERAL = "ip_literal"
    HOST = "host"
    OWN_ADDRESS = "own_address"
    # Name servers (name_lookup.py).
    NO_ADDRESS = "no_address"
    DNS_FAILED = "dns_failed"
    DNS_TIMEOUT = "dns_timeout"
    TOO_MANY_RECORDS = "too_many_records"
    PRIVATE_ADDRESS = "private_address"
    # The connection (connections.py).
    UNREACHABLE = "unreachable"
    CERTIFICATE = "certificate"
    TLS = "tls"
    TIMEOUT = "timeout"
    # The response (fetching.py).
    REDIRECT = "redirect"
    ANOTHER_HOST = "another_host"
    REDIRECTS = "redirects"
    BAD_ANSWER = "bad_answer"
    HEADERS_TOO_LARGE = "headers_too_large"
    ENCODED = "encoded"
    TOO_LARGE = "too_large"
    INCOMPLETE = "incomplete"


TEXTS: Mapping[str, str] = {
    Code.URL: "This URL can't be requested: it is too long, or contains spaces or other invalid characters.",
    Code.SCHEME: "Only URLs that begin with https:// are requested.",
    Code.USERINFO: "The URL has a user name or password before its host. Remove it.",
    Code.PORT: "Only port 443, the port of https, is requested. Remove the port.",
    Code.IP_LITERAL: "The host of the URL is an IP address. Use a domain name.",
    Code.HOST: "The host is not a full domain name, such as www.example.com.",
    Code.OWN_ADDRESS: "This URL belongs to the service itself.",
    Code.NO_ADDRESS: "The host has no IP address: its name servers have neither an A nor an AAAA record.",
    Code.DNS_FAILED: "The name servers of the domain answered with an error. Check its DNS records and delegation.",
    Code.DNS_TIMEOUT: f"The name servers of the domain did not answer within {_TIME}.",
    Code.TOO_MANY_RECORDS: "The name has too many TXT records. Remove the ones that are not needed.",
    Code.PRIVATE_ADDRESS: "The host has an IP address that is not public.",
    Code.UNREACHABLE: "The host accepts no connection on port 443, or closed it before it responded.",
    Code.CERTIFICATE: "The host’s certificate is not valid: {error}.",
    Code.TLS: "The host does not support TLS 1.2 or newer on port 443.",
    Code.TIMEOUT: f"The host did not send a complete response within {_TIME}.",
    # `cause` is the text of another code: why the redirect is not followed.
    Code.REDIRECT: "The URL redirects to one that is not requested. {cause}",
    Code.ANOTHER_HOST: "The URL leads to another host. Enter the URL that it leads to.",
    Code.REDIRECTS: f"The URL redirects more than {MAX_REDIRECTS} times.",
    Code.BAD_ANSWER: "The host’s response is not valid HTTP.",
    Code.HEADERS_TOO_LARGE: "The headers of the response are too large.",
    Code.ENCODED: "The response is compressed, although the request asked for no compression (Accept-Encoding: "
    "identity).",
    Code.TOO_LARGE: f"The response is larger than {_SIZE}.",
    Code.INCOMPLETE: "The response ended before it was complete.",
}


def text_of(code: str, parameters: Mapping[str, Any]) -> str:
    """Return the sentence of a code."""
    cause = parameters.get("cause")
    return fill_in(TEXTS[code], {**parameters, "cause": text_of(cause, {})} if cause else parameters)


class OutboundRefused(Exception):
    """A request brought nothing usable. `parameters` are those of the code's text."""

    def __init__(self, code: Code, **parameters: Any) -> None:
        super().__init__(code, parameters)
        self.code = code
        self.parameters = parameters

    @property
    def text(self) -> str:
        """The sentence for the developer who entered the URL."""
        return text_of(self.code, self.parameters)

    def __str__(self) -> str:
        return self.text
