"""The specifications that the docs name, and their URLs."""

_OPENID = "https://openid.net/specs"
_OTHERS = {
    "OpenID Connect Core": f"{_OPENID}/openid-connect-core-1_0.html",
    "OpenID Connect Discovery": f"{_OPENID}/openid-connect-discovery-1_0.html",
    "OpenID Connect RP-Initiated Logout": f"{_OPENID}/openid-connect-rpinitiated-1_0.html",
    "OpenID Connect Back-Channel Logout": f"{_OPENID}/openid-connect-backchannel-1_0.html",
    "OpenID RISC": f"{_OPENID}/openid-risc-1_0.html",
    "OpenID CAEP": f"{_OPENID}/openid-caep-1_0.html",
    "OAuth 2.0 Form Post Response Mode": f"{_OPENID}/oauth-v2-form-post-response-mode-1_0.html",
    "OpenAPI": "https://spec.openapis.org/oas/latest.html",
}


def url_of(name: str, section: str = "") -> str:
    """Return the URL of a specification, such as "RFC 7636", or of a section of it. Raises KeyError if unknown."""
    if name.startswith("RFC "):
        url = f"https://www.rfc-editor.org/rfc/rfc{int(name.removeprefix('RFC '))}"
        return f"{url}#section-{section}" if section else url
    url = _OTHERS[name]
    return f"{url}#rfc.section.{section}" if section else url
