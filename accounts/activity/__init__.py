"""Security activity: what happened to an account, kept for its owner to see, and mailed to them where it matters."""
