"""Signing up and signing in: forms, guesses, reauthentication, and steps that are not complete."""
