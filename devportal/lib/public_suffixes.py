"""The Public Suffix List: domains under which anybody can register, such as `co.uk` and `github.io`.

The list comes with the package `publicsuffixlist`, private section included, and is read at its first use. Nothing is
fetched; a new version of the package brings a new list.
"""

import functools

from publicsuffixlist import PublicSuffixList

from devportal.lib.hosts import ends_in_a_number


@functools.cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=False)


@functools.lru_cache(maxsize=4096)
def public_suffix(host: str) -> str:
    """Return the public suffix of a host in lower case ASCII; its last label if the list has no rule for it."""
    return str(_suffixes().publicsuffix(host) or "")


def is_public_suffix(host: str) -> bool:
    """Return whether anybody can register below this host."""
    return public_suffix(host) == host


def registrable_domain(host: str) -> str:
    """Return the public suffix of a host with one more label, the part that has one owner; "" if it has none."""
    return "" if ends_in_a_number(host) else str(_suffixes().privatesuffix(host) or "")
