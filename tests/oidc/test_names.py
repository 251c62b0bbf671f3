# ruff: noqa: RUF001  (names in disguise)
"""No app and no project passes for the service itself."""

import pytest
from django.core.exceptions import ValidationError

from oidc.names import check_name

DISGUISES = [
    "Openport",
    "OPENPORT",
    "My openport app",
    "Open Port",
    "O p e n p o r t",
    "open-port",
    "open.port",
    "o_p_e_n_p_o_r_t",
    "Ｏｐｅｎｐｏｒｔ",  # full width
    "𝐎𝐩𝐞𝐧𝐩𝐨𝐫𝐭",  # mathematical bold
    "𝓞𝓹𝓮𝓷𝓹𝓸𝓻𝓽",  # mathematical script
    "ⓞⓟⓔⓝⓟⓞⓡⓣ",  # circled
    "Оpenport",  # Cyrillic O
    "Openроrt",  # Cyrillic er and o
    "Οpenport",  # Greek Omicron
    "οpenpοrt",  # Greek omicron
    "0penport",
    "0penp0rt",
    "Op3nport",
    "Openpor7",
    "Open\u200bport",  # zero-width space
    "Open\u200dport",  # zero-width joiner
    "Open\u00adport",  # soft hyphen
    "\u202eOpenport",  # right-to-left override
    "Op\u0301enport",  # a combining accent
    "Õpénpört",
    "ᴏᴘᴇɴᴘᴏʀᴛ",  # small capitals
    "Open\ufeffport",
    "Ope\U000e0061nport",  # a tag character
    "Openport®",
    "The Open Port Team",
    "Openport\u2060",
    "ᴼᵖᵉⁿᵖᵒʳᵗ",  # superscripts
]

INNOCENT = [
    "Orbit Notes",
    "Open",
    "Port",
    "Porto Travel",
    "Opera",
    "Airport Shuttle",
    "Report Open",
    "Operator",
    "Import Export",
    "Passport",
    "Transport",
    "Open Source Portal",
    "Süßwaren-Shop",
    "Заметки",
    "東京メモ",
    "ملاحظات",
    "Łódź Events",
    "Ålesund Fisk",
    "C# Playground",
    "Ποίηση",
    "2048",
    "Sport",
]


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguise_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="Openport"):
        check_name(name)


@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_name_is_not(name: str) -> None:
    check_name(name)


UNREADABLE = [
    "",
    "   ",
    "x" * 101,
    "a\x00b",
    "a\nb",
    "a\u2028b",
    "\ud800",
    "\u200b",  # a space of no width
    "\u3164",  # a letter that is blank
    "\u2800",  # a sign that is blank
    "\u0301",  # a mark with nothing below it
    "\u202etropnepo",  # reads as the service's name, from its end
    "\u2067notes\u2069",
]


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValidationError):
        check_name(name)


def test_an_l_may_be_a_capital_i(settings: object) -> None:
    settings.SERVICE_NAME = "Portal"  # type: ignore[attr-defined]
    for name in ("PortaI", "Porta1", "Porta|", "PORTAL"):
        with pytest.raises(ValidationError):
            check_name(name)
    check_name("Portfolio")
