"""The usage page: its query parameters, its report, and the CSV file."""
