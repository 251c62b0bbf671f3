"""Marks for views whose forms are rate-limited (RateLimitMiddleware); docs/limits.md lists every path."""

from core.marks import Mark

# FORMS_PER_ADDRESS_PER_MINUTE: forms that anyone can send, such as sign-up, codes, new passwords, passkeys.
limited_by_address = Mark("limited_by_address")
# PASSKEY_CHALLENGES_PER_MINUTE: GET requests that store something in a session, such as a challenge for a passkey.
limited_challenges = Mark("limited_challenges")
# FORMS_PER_PERSON_PER_MINUTE: forms with which signed-in people create, upload or compute something.
limited_by_person = Mark("limited_by_person")
# MAILING_FORMS_PER_PERSON_PER_DAY: forms that send a mail to others each time, such as reviewers and colleagues.
# Invitations are also counted by recipient.
limited_mailing = Mark("limited_mailing")
