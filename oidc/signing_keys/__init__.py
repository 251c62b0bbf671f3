"""Signing keys: the published ones, and their rotation."""
