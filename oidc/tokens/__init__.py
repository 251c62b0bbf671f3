"""Codes, tokens and their families: issuing, finding, rotating and revoking them."""
