"""Write the figures of a run into docs/performance.md, and its chart into a file beside it."""

from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
CHART = DOCUMENT.with_suffix(".svg")
BEGIN, END = "<!-- figures: written by benchmarks/run.py --write -->", "<!-- end of figures -->"


def replace_between(text: str, figures: str) -> str:
    """Return `text` with `figures` between its two markers. Raises ValueError unless both are there once, in order."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in before + after:
        raise ValueError(f"the lines {BEGIN!r} and {END!r} have to be there once, in this order")
    return f"{before}{BEGIN}\n\n{figures.strip()}\n\n{END}{after}"


def write(figures: str, chart: str, document: Path = DOCUMENT) -> None:
    """Write both files, or neither. Raises ValueError if the document does not contain both markers."""
    text = replace_between(document.read_text(encoding="utf-8"), figures)
    document.with_suffix(".svg").write_text(chart, encoding="utf-8")
    document.write_text(text, encoding="utf-8")
