"""Formats of the admin's lists: they sort as they read, and say their zone."""

DATETIME_FORMAT = "Y-m-d H:i e"
DATE_FORMAT = "Y-m-d"
