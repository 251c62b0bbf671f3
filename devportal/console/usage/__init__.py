"""The usage page: which stretch of time, what is shown of it, and the same as CSV."""
