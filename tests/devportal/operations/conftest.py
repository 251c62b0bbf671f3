"""The people and rows of the admin's tests, for the tests in this folder."""

from tests.devportal.admin.conftest import as_operator, operator, reviewer, superuser, world

__all__ = ["as_operator", "operator", "reviewer", "superuser", "world"]
