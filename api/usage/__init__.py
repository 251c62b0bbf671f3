"""Usage: counting calls, keeping and reading the counts."""
