"""Domains of projects: claims, proofs, and what a proof covers (docs/domains.md)."""
