"""A browser with cookies and forms that calls a WSGI application in this process, without Django's test client."""

import io
import re
import sys
from dataclasses import dataclass
from html import unescape
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urlsplit

# The host of Django's test client, which creates the world of the tests.
HOST = "testserver"
FORM = "application/x-www-form-urlencoded"
_HIDDEN = re.compile(r"<input\b[^>]*\btype=\"hidden\"[^>]*>")
_LEADS_ON = re.compile(r'<meta http-equiv="refresh" content="0; url=([^"]*)">')
_ATTRIBUTE = re.compile(r"\b(name|value)=\"([^\"]*)\"")


@dataclass
class Answer:
    """A complete response."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def location(self) -> str:
        """The URL to which a redirect or a page leads."""
        found = [value for name, value in self.headers if name.lower() == "location"]
        return found[0] if found else unescape(_LEADS_ON.findall(self.text)[0])

    @property
    def form(self) -> dict[str, str]:
        """The hidden fields of the page's forms."""
        found = [dict(_ATTRIBUTE.findall(tag)) for tag in _HIDDEN.findall(self.text)]
        return {each["name"]: unescape(each.get("value", "")) for each in found if "name" in each}


class PageBrowser:
    """A browser that keeps cookies by name and sends all of them with each request."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self.cookies: dict[str, str] = {}

    def get(self, address: str) -> Answer:
        return self._call("GET", address, b"")

    def post(self, address: str, form: dict[str, str]) -> Answer:
        return self._call("POST", address, urlencode(form).encode())

    def _call(self, method: str, address: str, body: bytes) -> Answer:
        parts = urlsplit(address)
        environ = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "SERVER_NAME": HOST,
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": HOST,
            "HTTP_ORIGIN": f"http://{HOST}" if method == "POST" else "",
            "HTTP_USER_AGENT": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "HTTP_COOKIE": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "CONTENT_TYPE": FORM if body else "",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
        }
        if method != "POST":
            del environ["HTTP_ORIGIN"]
        started: list[Any] = []
        response = self.application(environ, lambda status, headers, exc_info=None: started.extend((status, headers)))
        try:
            answer = Answer(int(started[0][:3]), started[1], b"".join(response))
        finally:
            response.close()
        for name, value in answer.headers:
            if name.lower() == "set-cookie":
                self._keep(value)
        return answer

    def _keep(self, cookie: str) -> None:
        for name, morsel in SimpleCookie(cookie).items():
            if morsel.value and morsel["max-age"] != "0":
                self.cookies[name] = morsel.value
            else:
                self.cookies.pop(name, None)
