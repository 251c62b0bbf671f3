"""Names of browsers, as people say them."""

import pytest

from core.http.places import browser_name

MOZILLA = "Mozilla/5.0"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (f"{MOZILLA} (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on an iPhone"),
        (f"{MOZILLA} (iPad; CPU OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on an iPad"),
        (f"{MOZILLA} (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", "Chrome on an Android phone"),
        (f"{MOZILLA} (Linux; Android 15) Chrome/140.0 Safari/537.36", "Chrome on an Android tablet"),
        (f"{MOZILLA} (X11; CrOS x86_64) Chrome/140.0 Safari/537.36", "Chrome on a Chromebook"),
        (f"{MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0 Safari/537.36", "Chrome on a Mac"),
        (f"{MOZILLA} (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("", "Unknown browser"),
    ],
)
def test_browsers_and_devices_have_their_common_names(agent: str, name: str) -> None:
    assert browser_name(agent) == name
