"""What reviewers do: decisions with their checklist, notes, replies, appeals, and emails to reviewers."""
