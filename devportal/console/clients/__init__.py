"""Clients in the console."""
