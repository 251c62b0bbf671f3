"""Codes, tokens and token families: issue, find, rotate and revoke them."""
