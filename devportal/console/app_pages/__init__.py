"""Public pages of reviewed apps, publishing them, and people's reports of apps (docs/review.md#public-pages)."""
