"""Formats for lists in the admin: times that sort as text and include their time zone."""

DATETIME_FORMAT = "Y-m-d H:i e"
DATE_FORMAT = "Y-m-d"
