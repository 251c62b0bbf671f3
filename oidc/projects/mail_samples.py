"""Samples of the mails about projects (docs/mail.md#samples)."""

from accounts.mail.samples import Sample, register

register(
    {
        "project_invitation": Sample(
            "Invitation: project",
            "The owner of a project invites someone to it",
            "the invited person",
            {"": {"inviter": "ada@example.com", "email": "grace@example.com", "days": 7}},
        )
    }
)
