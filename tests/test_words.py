"""Words that the project does not use, in any tracked text file, with the word to use instead.

Files are read line by line; nothing is imported. Only words that are always wrong belong in the table.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".css", ".html", ".in", ".js", ".md", ".py", ".toml", ".txt"}
# Generated, a recorded state of the database, and the table below.
LEFT_OUT = ("requirements/", "tests/test_words.py")

DESK = r"the(_| reviewers'? | review )?desk|review(ers'?)? desk"
# A regular expression, in any case, between characters that are not letters; and what to write instead.
WORDS = {
    r"mend(s|ed|ing)?": "fix",
    DESK: "app review, reviewer",
    r"verdicts?": "result",
    r"(pre)?judg(e|es|ed|ing|ements?)": "check, rule",
    r"likeness(es)?": "similarity",
    r"lost[ _]answers?|unheard": "lost response",
    r"accesses": "scope descriptions",
    r"(?<!\.)(un)?seal(s|ed|ing)?": "encrypt, encryption",
    r"second[ _]steps?": "two-step verification, passkey, authenticator app, recovery code",
    r"deeds?": "action",
    r"anew": "again, or cut",
    r"whoever": "anyone who, people who",
    r"who[ _]has[ _]not": "people who have not, unless",
    r"those that": "the ones that",
    r"works? no more": "no longer works",
    r"(is|are) worth nothing": "is no longer valid",
    r"its makers|the people who run": "the developer, the team",
    r"e-mails?": "email",
    r"somebody|anybody|everybody": "someone, anyone, everyone",
    r"begun": "started",
    r"(?<!math\.)floors?": "layer",
    r"houses?": "layer",
    r"(un)?verified (apps?|clients?)": "reviewed, not reviewed",
    r"API calls": "API requests",
    r"calls (a|per) minute": "requests",
    r"unreviewed (apps?|clients?)|an unreviewed": "not reviewed, without a review",
    # "of their own projects" is right: a noun follows.
    r"of (one's|its|their|his|her) own(?=[^\w ]|$| (accord|and|as|at|by|for|from|has|have|if|in|is|of|on|or|that|to|"
    r"when|where|which|with|without)\b)": "separate, or cut",
}
# Only in templates, because code may use the words.
IN_TEMPLATES = {
    r"(a|this|that|several|these|all) mails?(?! (server|program))": "email",
    r"(create|creates|add|adds) a client(?! (id|secret))": "app",
    r"(your|this) client (is|has|can)|this client’s": "app",
    r"permissions of (an|the|this|your) (app|key)": "scopes",
}
# (word, path or the folder it is in): a pattern of what may stand there, and why.
ALLOWED = {
    (DESK, ""): ("written_at_the_desk", "A name in the data export, which people may have downloaded."),
    (r"(un)?verified (apps?|clients?)", "tests/core/test_names.py"): (
        r"Orbit . verified app",
        "A name that is refused.",
    ),
    ("e-mails?", "devportal/docs/search.py"): ('"e-mail"', "Readers of the docs may search for it."),
    (r"(?<!math\.)floors?", "devportal/console/charts.py"): (r"\.floor|def floor", "The bottom line of a chart."),
}
PATTERNS = {word: re.compile(rf"(?<![^\W\d_])(?:{word})(?![^\W\d_])", re.IGNORECASE) for word in WORDS | IN_TEMPLATES}
# Most lines contain none of them: one search per line is enough.
ANY = re.compile("|".join(pattern.pattern for pattern in PATTERNS.values()), re.IGNORECASE)


def is_allowed(word: str, path: str, line: str) -> bool:
    """Whether the line is an exception that ALLOWED lists."""
    return any(
        word == allowed and path.startswith(place) and re.search(text, line) is not None
        for (allowed, place), (text, _) in ALLOWED.items()
    )


def found_in(path: str, text: str) -> Iterator[str]:
    """Yield each place in a file where a word of the table occurs, and what to write instead."""
    for number, line in enumerate(text.splitlines(), 1):
        if not ANY.search(line):
            continue
        for word, pattern in PATTERNS.items():
            if word in IN_TEMPLATES and not path.startswith("templates/"):
                continue
            if (match := pattern.search(line)) and not is_allowed(word, path, line):
                yield f"{path}:{number}: {match[0]!r}: write {(WORDS | IN_TEMPLATES)[word]}"


def texts() -> dict[str, str]:
    """Return the tracked text files by their path."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    paths = [Path(name) for name in listed.stdout.split("\0") if name and not name.startswith(LEFT_OUT)]
    return {
        path.as_posix(): (ROOT / path).read_text(encoding="utf-8")
        for path in paths
        if (path.suffix in SUFFIXES or path.name == "Makefile") and (ROOT / path).is_file()
    }


def test_no_file_uses_a_word_of_the_table() -> None:
    read = texts()
    assert len(read) > 1000
    found = [one for path, text in read.items() for one in found_in(path, text)]
    assert not found, "\n".join([f"{len(found)} lines with words that the project does not use:", *found])


def test_every_exception_is_needed() -> None:
    read = texts()
    for (word, place), (text, _) in ALLOWED.items():
        lines = [line for path in read if path.startswith(place) for line in read[path].splitlines()]
        assert any(PATTERNS[word].search(line) and re.search(text, line) for line in lines), (word, place)


@pytest.mark.parametrize(
    "line",
    [
        "What is wrong, and how to mend it.", "MENDS = {}", "def judge_names() -> None:",
        "The reviewers' desk sees it.", "Whoever signs in sees it.", "A folder of its own.",
        "on connections of their own, which close", "def test_who_has_not_signed_in() -> None:", "Send an e-mail.",
        "An unverified app has a limit.", "600 calls a minute", "Unreviewed apps have a limit.",
    ],
)  # fmt: skip
def test_a_word_of_the_table_is_found(line: str) -> None:
    assert list(found_in("core/clock.py", line))


@pytest.mark.parametrize("line", ["Ignore this mail.", "Create a client.", "Your client is off."])
def test_some_words_are_found_in_templates_only(line: str) -> None:
    assert list(found_in("templates/mail/code.html", line))
    assert list(found_in("core/clock.py", line)) == []


@pytest.mark.parametrize(
    "line",
    ["Amend and commend it.", "math.floor(3.2)", "People see logs of their own projects.", "A lawsuit, adjudged."],
)
def test_similar_words_are_allowed(line: str) -> None:
    assert list(found_in("core/clock.py", line)) == []
