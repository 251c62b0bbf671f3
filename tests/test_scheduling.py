"""Which tests run when is said by their paths: a file that moves must not fall out of it unseen."""

from pathlib import Path

import pytest

from tests.services.scheduling import BEGIN_FIRST, THOROUGH, WHOLE

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("path", sorted({*BEGIN_FIRST, *THOROUGH, *WHOLE}))
def test_what_is_named_is_there(path: str) -> None:
    assert list(ROOT.glob(f"{path}*")) or list(ROOT.glob(f"{path}/*"))
