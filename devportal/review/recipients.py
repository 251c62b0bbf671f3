"""The reviewers, and the mails that each of them wants."""

from django.db.models import Q, QuerySet

from accounts.models import Account
from accounts.roles import REVIEWER
from devportal.review.models import ReviewerSettings


def reviewers() -> "QuerySet[Account]":
    """Return the accounts with the role, including superusers (`accounts.roles.is_reviewer`), by email address."""
    with_role = Q(pk__in=Account.groups.through.objects.filter(group__name=REVIEWER).values("account"))
    staff = Account.objects.filter(is_active=True, is_staff=True)
    return staff.filter(with_role | Q(is_superuser=True)).order_by("email")


def settings_of(account: Account) -> ReviewerSettings:
    """Return a reviewer's mail settings, or an unsaved row with the defaults."""
    return ReviewerSettings.objects.filter(account=account).first() or ReviewerSettings(account=account)


def save_settings(account: Account, *, mails_new: bool, mails_late: bool, mails_cases: bool) -> None:
    """Store a reviewer's mail settings."""
    wanted = {"mails_new": mails_new, "mails_late": mails_late, "mails_cases": mails_cases}
    ReviewerSettings.objects.update_or_create(account=account, defaults=wanted)


def who_wants(mail: str) -> "QuerySet[Account]":
    """Return the reviewers with a verified email address who want a kind of mail, named as in ReviewerSettings."""
    declined = ReviewerSettings.objects.filter(**{mail: False}).values("account")
    return reviewers().filter(email_verified=True).exclude(pk__in=declined)
