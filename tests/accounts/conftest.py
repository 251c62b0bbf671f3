"""People who help others with their accounts."""

import pytest

from accounts.models import Account
from tests.devportal.admin.conftest import make_staff


@pytest.fixture
def operator(db: None) -> Account:
    return make_staff("opal@example.com", "operator")
