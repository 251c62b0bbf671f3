"""Why nothing usable came of a request: a code for programs, a sentence for the developer whose address it is.

The sentences say nothing of the networks that the service stands in: every address that is not public reads the same.
"""

from devportal.lib.outbound.limits import MAX_BYTES, MAX_REDIRECTS, SECONDS

_SIZE = f"{MAX_BYTES // 1024} KB"
_TIME = f"{SECONDS:g} seconds"

SENTENCES = {
    # The address itself (targets.py).
    "url": "This is no address that can be asked: it is too long, or has spaces or other characters that don’t belong.",
    "scheme": "Only addresses that begin with https:// are asked.",
    "userinfo": "The address has a user name or password before its host. Remove it.",
    "port": "Only port 443 is asked, that of https. Remove the port.",
    "ip_literal": "The address has an IP address for its host. Give a domain name.",
    "host": "The host is no full domain name, such as www.example.com.",
    "own_address": "This is an address of the service itself.",
    # Name servers (name_lookup.py).
    "no_address": "The name has no address: its name servers know neither an A nor an AAAA record of it.",
    "dns_failed": "The name servers of the domain answered with an error. Look at its DNS records and delegation.",
    "dns_timeout": f"The name servers of the domain did not answer within {_TIME}.",
    "too_many_records": "The name has too many TXT records. Remove those that are not needed.",
    "private_address": "The name leads to an address that is not public.",
    # The connection (connections.py).
    "unreachable": "The host takes no connection on port 443, or ended it before it answered.",
    "certificate": "The host’s certificate is not valid: {reason}.",
    "tls": "The host does not speak TLS on port 443 as browsers do, version 1.2 or newer.",
    "timeout": f"The host did not answer in full within {_TIME}.",
    # The answer (fetching.py).
    "redirect": "The address redirects to one that is not asked. {reason}",
    "redirects": f"The address redirects more than {MAX_REDIRECTS} times.",
    "bad_answer": "The host’s answer is no valid HTTP.",
    "headers_too_large": "The headers of the answer are too large.",
    "encoded": "The answer is compressed, although it was asked for as it is (Accept-Encoding: identity).",
    "too_large": f"The answer is larger than {_SIZE}.",
    "incomplete": "The answer broke off before its end.",
}


class OutboundRefused(Exception):
    """Nothing usable came of a request.

    `code` is for programs (`private_address`, `timeout`, …: a key of SENTENCES), the text for the developer whose
    address it is.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def refusal(code: str, reason: str = "") -> OutboundRefused:
    """Return the refusal with a code of SENTENCES, to be raised."""
    return OutboundRefused(code, SENTENCES[code].format(reason=reason))
