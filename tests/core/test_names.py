# ruff: noqa: RUF001  (names in disguise)
"""No app and no project passes for the service itself."""

import re
import time
from contextlib import suppress
from typing import Any

import pytest
import regex
from confusable_homoglyphs import confusables
from django.core.exceptions import ValidationError

from core.names import skeletons, validate_name
from oidc.models import Client

DISGUISES = [
    "Openport", "OPENPORT", "My openport app", "Openport®", "The Open Port Team",
    "Open Port", "O p e n p o r t", "open-port", "open.port", "o_p_e_n_p_o_r_t",
    "0penport", "0penp0rt", "Op3nport", "Openpor7",
    # Full width, mathematical, circled, small capitals, superscripts
    "Ｏｐｅｎｐｏｒｔ", "𝐎𝐩𝐞𝐧𝐩𝐨𝐫𝐭", "𝓞𝓹𝓮𝓷𝓹𝓸𝓻𝓽", "ⓞⓟⓔⓝⓟⓞⓡⓣ", "ᴏᴘᴇɴᴘᴏʀᴛ", "ᴼᵖᵉⁿᵖᵒʳᵗ",
    # Cyrillic and Greek letters
    "Оpenport", "Openроrt", "Οpenport", "οpenpοrt",
    # Accents
    "Op\u0301enport", "Õpénpört",
    # Letters that look similar, also Korean and Chinese ones, which may be mixed with Latin ones
    "Opeŋport", "Opeᴎport", "Openpoʁt", "Opɜnport", "Ꟁpenport", "Oꟼenport", "ɸpenport",
    "ㅇpenport", "ㅁpㅌnport", "Openporㅜ", "Openporㄒ", "Oㄗeㄇport",
    # What is not drawn; \ufff0 is default-ignorable though unassigned
    "Open\u200bport", "Open\u200dport", "Open\u00adport", "\u202eOpenport", "Open\ufeffport", "Ope\U000e0061nport",
    "Openport\u2060", "Op\u3164enport", "Op\u115fen\u1160port", "Op\uffa0enport", "Op\u034fenport",
    "Op\ufe0fen\ufe00port", "Op\U000e0100enport", "Op\u17b4enport", "Op\u180e\u180benport", "Op\u2065\u2062enport",
    "Op\ufff0enport", "Op\u2800enport",
    # Letters in frames, and flags
    "🄾🄿🄴🄽🄿🄾🅁🅃", "🅾🅿🅴🅽🅿🅾🆁🆃", "🅞🅟🅔🅝🅟🅞🅡🅣", "Open🅿ort", "🇴🇵🇪🇳🇵🇴🇷🇹", "OPEN🇵🇴🇷🇹",
    # Strokes, and other Latin letters
    "Øpenpørt", "Openporŧ", "OpenⱣort", "Opɇnport", "opǝnport", "ɔpɛnpɔrt", "o\u0338pe\u0338nport", "Openpor†",
    # Other scripts, mixed or not
    "οpεnpοrτ", "ΟΡΕΝΡΟRΤ", "Орепрогт", "ОРЕПРОГТ", "0ρєиρ0яτ", "Ο p e n ρ o r t", "Openᑭort", "Openꮲort", "ꓳꓑꓰꓠꓑꓳꓣꓔ",
    "Ⲟpenpⲟrt", "Օpenport", "𐐄penport", "口尸乇几尸口尺丅",
    # Symbols that stand for letters, and any picture, for one letter in four
    "⭕penp⭕rt", "🔵penp🔴rt", "●penp◉rt", "Op€nport", "Op£nport", "Openpor+", "Openpor✝", "Open₱ort", "₳₱₱: 0₱€₦₱0®₮",
    "()penp()rt", "[]penp[]rt", "{}pen<>port", "Oþenþort", "Ope∩port", "O|>en|>ort", "0p3n-p0|2-7", "O9en9ort",
    "Op∑nport", "@penp@rt", "🍩penp🍩rt", "Op*nport", "Ope♞port", "My ⭕penp⭕rt app",
]  # fmt: skip

INNOCENT = [
    "Orbit Notes", "Open", "Port", "Porto Travel", "Opera", "Airport Shuttle", "Report Open", "Operator",
    "Import Export", "Passport", "Transport", "Open Source Portal", "Süßwaren-Shop", "Заметки", "東京メモ", "ملاحظات",
    "Łódź Events", "Ålesund Fisk", "C# Playground", "Ποίηση", "2048", "Sport",
    # As apps are called, in other scripts
    "Госуслуги", "Яндекс Погода", "Дія", "2ГИС", "Εφημερίδα", "Հայաստան Քարտեզ", "საქართველოს ბანკი", "עברית יומית",
    "צ׳אט", "طلبات",
    # Persian separates words, and Sinhala joins them, with characters that are not drawn
    "نرم\u200cافزار", "می\u200cخواهم", "हिन्दी समाचार", "क्\u200dष", "বাংলা অভিধান", "ਪੰਜਾਬੀ ਰੇਡੀਓ", "ગુજરાતી",
    "தமிழ் நாட்காட்டி", "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "ශ්\u200dරී ලංකා", "ไทยรัฐ", "ລາວ", "မြန်မာ ပြက္ခဒိန်",
    "ភាសាខ្មែរ", "བོད་ཡིག", "ދިވެހި", "አማርኛ ዜና", "카카오톡", "네이버 지도", "카카오 Talk", "微信", "支付宝 Pay",
    "注音 ㄅㄆㄇ", "LINEマンガ", "メルカリ", "日本語ノート々",
    # As they are in Latin letters
    "Tiếng Việt", "Türkçe İşler", "Ħobż Malti", "Smørrebrød", "o’zbekcha oʻyin", "Tom & Jerry’s “Best” (2.0)",
    "Crème № 5", "½ Price",
    # Pictures
    "I ❤\ufe0f Notes", "Open 🍩 Sort", "⭕ Circle", "C++ Tutor", "Notes+", "$ave", "(Parentheses)", "Þorlákur",
    "Cash€w", "√2 Calculator", "√x Solver",
    # Words that would claim something elsewhere
    "Support Desk Pro", "Orbit Support", "Supporta", "Home Security", "Security Camera Viewer", "Signal", "Signage",
    "Signs", "Accountant", "Your Accountant", "Accountable", "Account Book Keeper", "Password Manager",
    "Authorize.net Tools", "Helper", "Helping Hands", "Admiral", "Staffroom", "Official Monster Raving Party Planner",
    "Official Journal Reader", "Peer Reviewed", "FDA-approved Drugs", "Certified Barista Exam", "Trusted Advisor",
    "Unverified Rumours", "Checkmate", "Check Please", "Review", "Identity", "Billing", "Team", "My App", "Notes 🗒",
    "Deutsch 🇩🇪", "👾", "☪ Prayer Times", "✡ Calendar", "Star Maps", "Lockwood", "Allowance", "Continue Writing",
    "Orbit Two-step", "이미지 노트", "ㄗㄇ",
]  # fmt: skip


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguise_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="Openport"):
        validate_name(name)


@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_name_is_not(name: str) -> None:
    validate_name(name)


CLAIMS = [
    "✓ Orbit", "Orbit ✔", "Orbit ✔\ufe0f", "☑ Orbit", "✅", "Or🗸bit", "🗹 Orbit", "⍻ Orbit", "√ Orbit", "Orbit √",
    "✓ Reviewed by Openpor", "Reviewed by experts", "REVIEWED-BY Us", "Approved by Orbit", "Orbit, certified by us",
    "Verified", "Orbit Verified", "Orbit (Verified)", "Orbit – verified app", "V e r i f i e d", "V3r1f1ed Orbit",
    "√erified Orbit", "Ⓥⓔⓡⓘⓕⓘⓔⓓ", "ᴠᴇʀɪꜰɪᴇᴅ Orbit", "Official", "Orbit Official", "Orbit [0fficial]",
    "Orbit (approved)", "Orbit – certified", "Orbit | Trusted!", "This app was reviewed", "Orbit has been approved",
    "Officially reviewed Orbit", "0ff1c1ally trusted", "🛡 Orbit", "Orbit 🛡️", "Orbit 🔒", "🔐", "⭐ Orbit",
    "★★★★★ Orbit", "Orbit 🏅", "Orbit 👍", "🆗 Orbit",
]  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_a_name_that_claims_a_review_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="the result of a review"):
        validate_name(name)


AS_THE_SERVICE = [
    "Support", "SUPPORT!!!", "(Support)", "$upport", "Supp⭕rt", "S u p p o r t", "Support 🛟", "Customer Support Team",
    "Help", "The Help Center", "Helpdesk", "Account", "My Account", "Account Security", "Account-Security",
    "AccountSecurity", "Security", "Security Team", "Sign in", "Sign-In", "S1gn 1n", "signin", "Log In", "Login",
    "Password Reset", "Two-factor authentication", "Identity Verification", "Trust & Safety", "Admin", "Administrator",
    "Official App", "Sign in to your account", "Sign in with Orbit", "Your account was suspended", "Verify your email",
    "Security alert: act now", "App Review", "Review Team", "Security check", "Fraud Prevention", "Allow", "Yes, allow",
    "A11ow", "Allow access to your files", "Press Allow to continue", "Cancel", "Continue", "Continue to Orbit",
    "C0ntinue with Orbit", "Deny", "Accept", "2-step verification", "Delete your account",
]  # fmt: skip


@pytest.mark.parametrize("name", AS_THE_SERVICE)
def test_a_name_that_reads_as_the_service_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="Openport itself"):
        validate_name(name)


@pytest.mark.parametrize(
    "name", ["()" * 50, "1|!" * 33, "support" * 14, "⭕*" * 50, "a+" * 50, "in " * 33, "o0()" * 25]
)
def test_the_check_of_a_long_name_is_quick(name: str) -> None:
    before = time.process_time()
    with suppress(ValidationError):
        validate_name(name)
    assert time.process_time() - before < 0.5


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("Orbit", "O"),
        ("✓ orbit", "O"),
        ("✅", "A"),
        ("🗒 notes", "N"),
        ("(x)", "X"),
        ("2048", "2"),
        ("①a", "A"),
        ("ßa", "S"),
        ("東京", "東"),
        ("ˇcaron", "C"),  # a letter that looks like a check mark
        ("ꪜ b", "B"),  # so does this one
        ("ℹ Orbit", "I"),
        ("ℹ\ufe0f", "I"),
        ("", "A"),
    ],
)
def test_the_tile_shows_only_a_letter_or_digit(name: str, letter: str) -> None:
    assert Client(name=name).letter == letter


UNREADABLE = [
    "",
    "   ",
    "x" * 101,
    "a\x00b",
    "a\nb",
    "a\u2028b",
    "\ud800",
    # Blank characters, a mark with nothing below it, and names that are read from their end
    "\u200b",
    "\u3164",
    "\u2800",
    "\u0301",
    "\u202etropnepo",
    "\u2067notes\u2069",
    # What is not drawn, in a name that is nobody else's: joiners that join nothing, or pictures
    "Orbit\u200b Notes",
    "Orbit\u200cNotes",
    "Orbit\u200dNotes",
    "\u200dOrbit",
    "Orbit\u200d",
    "Orbit\u00adNotes",
    "Orbit\u2060Notes",
    "Orbit\u3164Notes",
    "Orbit\u034fNotes",
    "Orbit\ufe0f",
    "1\ufe0f",
    "Orbit\U000e0061",
    "می\u200c",
    "\u200cمی",
    "क\u200dष",
    "\U0001f469\u200d\U0001f467",
    "辻\U000e0100",
    # Scripts that nobody writes names in
    "ᏣᎳᎩ",
    "ᐃᓄᒃᑎᑐᑦ",
    "ᚠᚢᚦᚨᚱᚲ",
    "𐐐𐐯𐑊𐐬",
    "ⲁⲃⲅ",
    "Notes\u2800",
    "Notes \U000e01f0",
    "Notes \U0003fffd",
    # Scripts that nobody writes together
    "Orbit Νotes",
    "Νotes",
    "Заmетки",
    "Orbit Заметки",
    "नेपाली Notes",
    "مذكرات Notes",
    "メモ 메모",
    "注音 ㄅ カ",
    "한글 ㄅ",
    "Orbit Ճ",
]


@pytest.mark.parametrize("name", UNREADABLE)
def test_invalid_names(name: str) -> None:
    with pytest.raises(ValidationError):
        validate_name(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Orbit ✔", "A name can't contain “✔”: people would read it as the result of a review. Remove it."),
        ("Orbit (Verified)", "A name can't contain “Verified”: people would read it as the result of a review."),
        ("Orbit (approved)", "A name can't end with “approved”: people would read it as the result of a review."),
        ("Sign in to Orbit", "A name can't begin with “Sign in to”: it looks like a message from Openport itself."),
        ("Support", "“Support” looks as if it came from Openport itself. Add the name of your product, as in"),
        ("Orbit\u200b Notes", "Remove U+200B"),
        ("Orbit\u202e Notes", "Remove U+202E"),
        ("Orbit Ꮳ", "“Ꮳ”: its script is not supported"),
        ("Orbit Заметки", "Use one script"),
        ("Orbit \U0001cce4", "unknown character U+1CCE4"),  # an O of a newer Unicode version
    ],
)
def test_the_message_quotes_what_is_refused_and_says_what_to_do(name: str, message: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(message)):
        validate_name(name)


def test_nothing_that_is_not_drawn_hides_in_a_name_anywhere() -> None:
    """Unicode's whole table, between letters: refused, and never part of what the name reads as."""
    not_drawn = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    found = [chr(point) for point in range(0x110000) if not_drawn.match(chr(point))]
    assert len(found) > 4000
    for character in found:
        with pytest.raises(ValidationError, match="Openport"):
            validate_name(f"Open{character}port")
        with pytest.raises(ValidationError, match="invisible characters"):
            validate_name(f"No{character}tes")


def test_every_letter_that_the_tables_call_alike_is_read_alike() -> None:
    """UTS #39: a character reads as what it is paired with, if that is one of the letters in question."""
    letters = set("openportOPENPORT")
    assert len(confusables.confusables_data) > 1000
    for character, alike in confusables.confusables_data.items():
        if not character.isalnum() or character.isascii():  # accents, too, are paired with letters
            continue
        if letters & {each["c"] for each in alike}:
            (letter, *_) = (each["c"] for each in alike if each["c"] in letters)
            assert skeletons(character) & skeletons(letter), character


@pytest.mark.parametrize("own", ["Портал", "東京メモ", "Notiz Ø", "مدونة"])
def test_a_service_may_have_a_name_of_any_script(own: str, settings: Any) -> None:
    settings.SERVICE_NAME = own
    with pytest.raises(ValidationError):
        validate_name(f"{own} 2")
    validate_name("Orbit Notes")


@pytest.mark.parametrize(
    ("own", "name"),
    [("Harmony", "Harrnony"), ("Portal", "PortaI"), ("Portal", "Porta1"), ("Portal", "Porta|"), ("Portal", "PORTAL")],
)
def test_an_m_is_read_like_rn_and_an_l_like_a_capital_i(own: str, name: str, settings: Any) -> None:
    settings.SERVICE_NAME = own
    with pytest.raises(ValidationError, match=own):
        validate_name(name)
    validate_name("Portfolio")
