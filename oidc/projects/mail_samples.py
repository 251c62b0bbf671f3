"""Samples of the mails about projects (docs/mail.md#samples)."""

from accounts.mail.samples import Sample, register

register(
    {
        "project_invitation": Sample(
            "Invitation: project",
            "The owner of a project invites to it",
            "who is invited",
            {"": {"inviter": "ada@example.com", "email": "grace@example.com", "days": 7}},
        )
    }
)
