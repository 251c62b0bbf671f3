"""Guides for libraries and products, filled in with the reader's own ids. Tests run their code."""
