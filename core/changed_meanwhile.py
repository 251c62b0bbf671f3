"""Pages with a form whose values someone else may change before it is sent.

The form has a hidden field with the digest of the values that its page showed. The function that saves it compares that
with the present values under the lock, and raises ChangedMeanwhile instead of undoing a change that nobody saw.
"""

import hashlib
import json

from django.core.exceptions import ValidationError


class ChangedMeanwhile(ValidationError):
    """The values were changed since the page with the form was opened."""

    def __init__(self) -> None:
        super().__init__(
            "Nothing is saved yet, because this was changed after you opened the page, maybe by someone else. Open "
            "the page in another tab to see the change. If you save again, your version replaces it."
        )


def digest_of(values: object) -> str:
    """Return a digest of values that JSON can store, which tells whether they have changed."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
