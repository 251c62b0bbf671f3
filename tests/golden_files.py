"""Comparison of responses with the files in `tests/golden/`, which pin what others rely on.

After an intended change, `WRITE_GOLDEN=1` writes the files of the selected tests again. Review the difference.
"""

import json
import os
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "golden"


def compare(name: str, found: Any) -> None:
    """Fail with a diff unless the JSON value `found` is the one in the file.

    They are compared as text, because 200 is not 200.0, and the order of the fields is fixed.
    """
    file = FOLDER / f"{name}.json"
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("WRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    agreed = json.dumps(json.loads(file.read_text(encoding="utf-8")), indent=2, ensure_ascii=False) + "\n"
    if text != agreed:
        path = f"tests/golden/{file.name}"
        lines = unified_diff(agreed.splitlines(), text.splitlines(), path, "the response", lineterm="", n=2)
        hint = "If the change is intended, run this test with WRITE_GOLDEN=1 and review the difference."
        pytest.fail("\n".join([f"{path} is different. {hint}", *lines]), pytrace=False)
