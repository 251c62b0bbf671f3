"""Search: of the docs, and the console's jump box."""
