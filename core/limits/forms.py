"""Marks of views whose forms are rate-limited (RateLimitMiddleware); docs/limits.md lists every path."""

from core.marks import Mark

# FORMS_PER_ADDRESS_PER_MINUTE: what anybody can send, such as sign-up, codes, new passwords, passkeys.
limited_by_address = Mark("limited_by_address")
# PASSKEY_CHALLENGES_PER_MINUTE: what a GET stores for anybody, such as a challenge for a passkey, in a session.
limited_challenges = Mark("limited_challenges")
# FORMS_PER_PERSON_PER_MINUTE: what a person who is signed in creates, uploads or has computed.
limited_by_person = Mark("limited_by_person")
# MAILING_FORMS_PER_PERSON_PER_DAY: what mails others each time, reviewers and colleagues. Invitations are counted by
# their recipient as well.
limited_mailing = Mark("limited_mailing")
