"""Domains of a project in the console: the page, and the mails about their proofs."""
