"""Files of this folder share one service, so no two of them have the same person."""

import ast
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
MAILBOX = "@example.com"
# People that are found at least.
MOST_KNOWN = 60


def people_in(source: str) -> Iterator[str]:
    """Yield the addresses that a file spells, alone or as f"{name}@example.com" for several names."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)) if text.endswith(MAILBOX) and text != MAILBOX:
                yield text
            case ast.GeneratorExp(
                elt=ast.JoinedStr(values=parts), generators=[ast.comprehension(iter=ast.Tuple(elts))]
            ):
                known = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
                if known[-1:] == [MAILBOX]:
                    yield from (f"{''.join(known[:-1])}{ast.literal_eval(name)}{MAILBOX}" for name in elts)


def test_each_person_belongs_to_one_file() -> None:
    files: dict[str, set[str]] = {}
    for path in FOLDER.glob("*.py"):
        for address in people_in(path.read_text(encoding="utf-8")):
            files.setdefault(address, set()).add(path.name)
    assert len(files) > MOST_KNOWN
    assert {address: names for address, names in files.items() if len(names) > 1} == {}
