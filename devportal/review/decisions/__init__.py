"""What reviewers do: decisions with their checklist, notes, replies, appeals, and mails to reviewers."""
