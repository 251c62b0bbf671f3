"""What developers do: drafts, requirements, submissions, and second approvals that these need."""
