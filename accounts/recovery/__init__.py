"""Getting an account back: recovery, undoing factors, taking back an email address, closed accounts, and securing."""
