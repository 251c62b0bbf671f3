"""Signing keys: those in use, and their rotation."""
