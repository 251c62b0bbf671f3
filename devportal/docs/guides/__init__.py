"""Guides: one for each library or product that people use, with the reader's own ids; the tests run what they show."""
