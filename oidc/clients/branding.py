"""Branding of an app: validation of its name, home page, privacy policy, terms and support address."""

import ipaddress
from collections.abc import Callable, Mapping

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from devportal.lib.public_suffixes import registrable_domain
from oidc.clients.uris import (
    HAS_FRAGMENT,
    HAS_USERINFO,
    HOST_RULES,
    LOOPBACK_HOSTS,
    NOT_ASCII,
    Rule,
    apply_rules,
    own_address,
    split_web_address,
    too_long,
)
from oidc.names import validate_name

MAX_URL_LENGTH = 500  # characters


# --- Validation ---


def _host(url: str) -> str:
    """Return the host of a web address, "" for anything else."""
    parts = split_web_address(url)
    return (parts.hostname or "") if parts else ""


def _is_public_name(host: str) -> bool:
    """Return whether `host` may be a public domain name: no IP address, and at least one dot."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        labels = host.rstrip(".").split(".")
        return len(labels) > 1 and all(labels) and not labels[-1].isdigit() and host not in LOOPBACK_HOSTS
    return False


# In order: the message of the first rule that holds is shown to the developer.
PAGE_URL_RULES: tuple[Rule, ...] = (
    too_long(MAX_URL_LENGTH),
    NOT_ASCII,
    HAS_FRAGMENT,
    (lambda url: url.lower().startswith("http://"), "Use https: people are sent there from the consent page."),
    (lambda url: not url.startswith("https://"), "This is not a web address: it begins with https://."),
    HAS_USERINFO,
    (lambda url: "\\" in url or not _host(url), "This is not a web address."),
    (lambda url: not _is_public_name(_host(url)), "Give an address that anybody can open, with a domain name."),
    *HOST_RULES,
    own_address(),
)


def validate_page_url(url: str) -> None:
    """Raise ValidationError unless `url` may be a public https page. Nothing is fetched here."""
    apply_rules(PAGE_URL_RULES, url)


def validate_support_address(address: str) -> None:
    """Raise ValidationError unless `address` is an email address."""
    try:
        validate_email(address)
    except ValidationError as error:
        raise ValidationError("This is not an email address.") from error


def _if_given(check: Callable[[str], None]) -> Callable[[str], None]:
    return lambda value: check(value) if value else None


# Every text of an app that people see, with its validator. Only the name is required.
FIELD_VALIDATORS: Mapping[str, Callable[[str], None]] = {
    "name": validate_name,
    "home_page_url": _if_given(validate_page_url),
    "privacy_policy_url": _if_given(validate_page_url),
    "terms_url": _if_given(validate_page_url),
    "support_address": _if_given(validate_support_address),
}


def clean_branding(values: Mapping[str, str]) -> dict[str, str]:
    """Return the validated, stripped values. Raises ValidationError by field, KeyError for an unknown field."""
    kept = {field: value.strip() for field, value in values.items()}
    errors: dict[str, list[str]] = {}
    for field, value in kept.items():
        try:
            FIELD_VALIDATORS[field](value)
        except ValidationError as error:
            errors[field] = error.messages
    if errors:
        raise ValidationError(errors)
    return kept


# --- Hosts that fit each other ---


def is_same_site(one: str, other: str) -> bool:
    """Return whether two hosts seem to have one owner: equal, or below the same registrable domain.

    A hint for developers and reviewers, not a proof.
    """
    return one == other or (registrable_domain(one) or one) == (registrable_domain(other) or other)


def foreign_hosts(home_page_url: str, redirect_urls: list[str]) -> list[str]:
    """Return the hosts of redirect URIs that do not fit the home page's host; loopback hosts are left out."""
    home = _host(home_page_url)
    hosts = dict.fromkeys(_host(url) for url in redirect_urls)
    return [host for host in hosts if host and host not in LOOPBACK_HOSTS and not (home and is_same_site(host, home))]
