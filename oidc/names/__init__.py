"""Names of apps and projects: their skeletons, and which names are rejected (docs/console.md#names)."""

from oidc.names.skeletons import MAX_SKELETON_LENGTH, skeleton, skeletons
from oidc.names.validation import MAX_LENGTH, tile_letter, validate_name

__all__ = ["MAX_LENGTH", "MAX_SKELETON_LENGTH", "skeleton", "skeletons", "tile_letter", "validate_name"]
