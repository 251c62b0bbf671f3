"""Domains of projects: claiming, proving, and what a proof covers (docs/domains.md)."""
