"""Which host passkeys belong to (WebAuthn §5.1.3: a page may use those of its own host, and of a domain above it)."""

from django.http import HttpRequest

from devportal.lib import split_hosts


def rp_id(request: HttpRequest) -> str:
    """Return the RP ID: the request's host; on an admin host below the host of AUTH_URL the latter."""
    name = split_hosts.name_of(request)
    people = split_hosts.people_host()
    return people if split_hosts.serves_only(request, split_hosts.ADMIN) and name.endswith(f".{people}") else name


def work_on(request: HttpRequest) -> bool:
    """Return whether people's passkeys can be used on the request's host: on an admin host elsewhere they can't."""
    return not split_hosts.serves_only(request, split_hosts.ADMIN) or rp_id(request) == split_hosts.people_host()
