"""Charts drawn on the server, as SVG with a table beside it."""
