"""Quick starts: code that signs in, with the reader's own ids."""
