"""The activity page: the audit trail of a project, told in sentences."""
