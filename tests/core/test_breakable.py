"""Addresses break after their slashes, and stay what they are."""

from django.template import engines

from core.http.template_tags import breakable


def test_an_address_breaks_after_its_slashes() -> None:
    assert breakable("https://login.example/connect/token") == "https://<wbr>login.example/<wbr>connect/<wbr>token"
    assert breakable("https://login.example/") == "https://<wbr>login.example/"
    assert breakable("") == ""


def test_it_is_escaped_and_every_template_has_it() -> None:
    template = engines["django"].from_string("{{ address|breakable }}")
    assert template.render({"address": "https://a.example/<b>/c"}) == ("https://<wbr>a.example/<wbr>&lt;b&gt;/<wbr>c")
