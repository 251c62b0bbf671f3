"""Which sections answer a query best: BM25 over their words, with more weight for headings."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from devportal.console.search.words import near, query_words, words_of

# BM25: how soon more of the same word stops counting, and how much long sections lose.
_SATURATION, _LENGTH = 1.2, 0.6
# What a word counts besides, in a heading (less among many others), in the page's title, and among the keywords.
_TITLE_WEIGHT, _TITLE_SHARE_WEIGHT, _PAGE_WEIGHT, _KEYWORD_WEIGHT = 1.5, 3, 1, 4
_WHOLE_QUERY_FACTOR = 1.5  # for a heading that holds several words, all that were asked for
# What a word counts that only begins as the one asked for does, or is one slip away from it.
_PREFIX_WORTH, _LONGER_WORD_WORTH, _TYPO_WORTH = 0.6, 0.15, 0.4
_SHORTEST_PREFIX = 2


@dataclass(frozen=True)
class Section:
    """A part of a page: `title` is its heading, `page` the page's title, `keywords` what else people call it."""

    page: str
    title: str
    address: str
    text: str
    keywords: str = ""


@dataclass
class Index:
    """Sections, and where each word stands in them: its count in the text, and what it counts besides."""

    sections: Sequence[Section]
    postings: dict[str, dict[int, tuple[int, float]]] = field(default_factory=lambda: defaultdict(dict))
    lengths: list[int] = field(default_factory=list)
    titles: list[set[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for number, section in enumerate(self.sections):
            counts = Counter(words_of(section.text))
            self.lengths.append(sum(counts.values()))
            self.titles.append(set(words_of(section.title)))
            boosts = _boosts(section)
            for word in counts.keys() | boosts.keys():
                self.postings[word][number] = (counts[word], boosts.get(word, 0.0))
        self.mean_length = sum(self.lengths) / len(self.lengths) if self.lengths else 1

    def search(self, query: str, most: int) -> list[Section]:
        """Return the sections that hold all words of a query, best first; if there are none, those that hold any."""
        words = query_words(query)
        scores: dict[int, float] = defaultdict(float)
        held: Counter[int] = Counter()
        for place, word in enumerate(words):
            found = self._scores_of(word, is_last=place == len(words) - 1)
            held.update(found.keys())
            for number, score in found.items():
                scores[number] += score
        if len(words) > 1:
            for number in scores:
                if set(words) <= self.titles[number]:
                    scores[number] *= _WHOLE_QUERY_FACTOR
        full = [number for number in scores if held[number] == len(words)]
        best = sorted(full or scores, key=lambda number: (-held[number], -scores[number], number))
        return [self.sections[number] for number in best[:most]]

    def _scores_of(self, word: str, *, is_last: bool) -> dict[int, float]:
        """Return what each section gets for a word; the last one may still be in the midst of being typed."""
        best: dict[int, float] = {}
        for known, worth in self._forms(word, is_last=is_last):
            sections = self.postings[known]
            rarity = math.log(1 + (len(self.sections) - len(sections) + 0.5) / (len(sections) + 0.5))
            for number, (count, boost) in sections.items():
                norm = 1 - _LENGTH + _LENGTH * self.lengths[number] / self.mean_length
                score = worth * rarity * (boost + count * (_SATURATION + 1) / (count + _SATURATION * norm))
                best[number] = max(best.get(number, 0.0), score)
        return best

    def _forms(self, word: str, *, is_last: bool) -> Iterator[tuple[str, float]]:
        """Yield the known words that a word of the query stands for, and what each is worth."""
        if word in self.postings:
            yield word, 1.0
        worth = _LONGER_WORD_WORTH if word in self.postings else _PREFIX_WORTH
        if is_last and len(word) >= _SHORTEST_PREFIX:
            for known in list(self.postings):
                if known != word and known.startswith(word):
                    yield known, worth
        if word not in self.postings:
            for known in near(word, self.postings):
                yield known, _TYPO_WORTH


def _boosts(section: Section) -> dict[str, float]:
    """Return what words of a section count besides those of its text."""
    boosts: dict[str, float] = defaultdict(float)
    title = set(words_of(section.title))
    for word in title:
        boosts[word] += _TITLE_WEIGHT + _TITLE_SHARE_WEIGHT / len(title)
    for word in set(words_of(section.page)) - title:
        boosts[word] += _PAGE_WEIGHT
    for word in words_of(section.keywords):
        boosts[word] = max(boosts[word], _KEYWORD_WEIGHT)
    return boosts


def marked(text: str, query: str, around: int = 90) -> list[tuple[str, bool]]:
    """Return the stretch of a text around the first words of a query, in pieces with whether each is one of them."""
    wanted = query_words(query)
    pieces: list[tuple[str, bool]] = []
    words = text.split(" ")
    hits = [any(_is_meant(form, wanted) for form in words_of(word)) for word in words]
    first = hits.index(True) if True in hits else 0
    begin = end = first
    length = 0
    while begin > 0 and length < around // 2:
        begin -= 1
        length += len(words[begin]) + 1
    while end < len(words) and length < around * 2:
        length += len(words[end]) + 1
        end += 1
    if begin:
        pieces.append(("… ", False))
    pieces += [
        piece
        for word, hit in zip(words[begin:end], hits[begin:end], strict=True)
        for piece in ((word, hit), (" ", False))
    ]
    if end < len(words):
        pieces.append(("…", False))
    return pieces


def _is_meant(word: str, wanted: list[str]) -> bool:
    return any(word == one or (len(one) >= _SHORTEST_PREFIX and word.startswith(one)) for one in wanted)
