"""The pages of the admin that show each email."""

import html
import re

import pytest
from django.test import Client as Browser

from accounts.mail.samples import all_samples
from tests.factories import make_account
from tests.relying_party import sign_in

pytestmark = pytest.mark.django_db
SAMPLES = "/admin/accounts/outbox/samples/"


@pytest.fixture
def browser() -> Browser:
    return sign_in(Browser(), make_account("root@example.com", is_superuser=True, is_staff=True))


def test_the_list_of_mails_leads_to_each_case_of_each(browser: Browser) -> None:
    assert SAMPLES in browser.get("/admin/accounts/outbox/").content.decode()
    text = browser.get(SAMPLES).content.decode()
    links = re.findall(rf'href="({SAMPLES}\w+/\d+/)"', text)
    assert len(set(links)) == len(links) == sum(len(each.cases) for each in all_samples().values())
    for sample in all_samples().values():
        assert html.escape(sample.cause) in text


def test_each_is_shown_in_light_and_dark_and_as_text_in_frames_that_may_do_nothing(browser: Browser) -> None:
    for name in all_samples():
        text = browser.get(f"{SAMPLES}{name}/1/").content.decode()
        frames = re.findall(r'<iframe [^>]*sandbox title="[^"]*" srcdoc="([^"]*)"></iframe>', text)
        light, dark = (html.unescape(frame) for frame in frames)
        assert light.startswith("<!DOCTYPE html>")
        assert light != dark
        assert light.replace("@media not all {", "@media all {") == dark
        assert "--\nOpenport\n" in text


@pytest.mark.parametrize("path", ["base/1", "none/1", "unknown_account/0", "unknown_account/5", "base_code/1"])
def test_unknown_previews_are_404(browser: Browser, path: str) -> None:
    assert browser.get(f"{SAMPLES}{path}/").status_code == 404
