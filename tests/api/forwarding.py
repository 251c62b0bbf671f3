"""Requests of proxies for forward authentication."""

from typing import Any

from django.test import Client as Browser

PREFIX = "/connect/forward-auth"
WHO = ("X-Auth-Subject", "X-Auth-Client", "X-Auth-Scope", "X-Auth-Key")


def ask(
    credential: str | None = None,
    path: str | None = "/events",
    method: str | None = "GET",
    *,
    slug: str = "calendar",
    query: str = "",
    style: str = "Forwarded",
    **headers: str,
) -> Any:
    """Ask about a call as Caddy and Traefik do, or with the style `Original` as nginx does."""
    sent = {} if credential is None else {"Authorization": f"Bearer {credential}"}
    uri = "Uri" if style == "Forwarded" else "URI"
    sent |= {} if path is None else {f"X-{style}-{uri}": path}
    sent |= {} if method is None else {f"X-{style}-Method": method}
    browser = Browser(enforce_csrf_checks=True, raise_request_exception=False)
    return browser.get(f"{PREFIX}/{slug}{query}", headers=sent | headers)


def ask_as_envoy(credential: str, path: str, method: str = "GET", **headers: str) -> Any:
    """Ask about a call as Envoy does: the path of the call follows the URL, and the method is that of the call."""
    sent = {"Authorization": f"Bearer {credential}"} | headers
    return Browser(raise_request_exception=False).generic(method, f"{PREFIX}/calendar{path}", headers=sent)
