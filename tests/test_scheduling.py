"""Which tests run when is said by their paths: a file that moves must not fall out of it unseen."""

from pathlib import Path

import pytest

from tests.services.scheduling import BEGIN_FIRST, THOROUGH, WHOLE

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("path", sorted({*BEGIN_FIRST, *THOROUGH, *WHOLE}))
def test_everything_named_exists(path: str) -> None:
    file, _, test = path.partition("::")
    found = [*ROOT.glob(f"{file}*"), *ROOT.glob(f"{file}/*")]
    assert found
    assert not test or f"def {test}(" in found[0].read_text(encoding="utf-8")
