"""Notices to developers, in the console and by mail (docs/console.md#notices)."""
