"""The outbox: mails that wait to be sent, were sent, or were given up."""

from datetime import timedelta

from django.core.mail import EmailMessage
from django.db import models
from django.db.models import Q

from devportal.lib import clock

# A sender that was killed leaves its claim behind; after this time another one takes the mail. Longer than any mail
# server is waited for (EMAIL_TIMEOUT at each of its answers), with room for clocks that are minutes apart.
CLAIM = timedelta(minutes=15)
FIRST_PAUSE = timedelta(seconds=30)  # after a failure; doubled at each further one
LONGEST_PAUSE = timedelta(hours=1)
KEEP_TRYING = timedelta(days=3)


class OutboxQuerySet(models.QuerySet["Outbox"]):
    def waiting(self) -> "OutboxQuerySet":
        """Return the mails that are neither sent nor given up."""
        return self.filter(sent_at=None, given_up_at=None)

    def due(self) -> "OutboxQuerySet":
        """Return the mails that may be sent now. A new one always may: its web server's clock may be ahead of ours."""
        return self.waiting().filter(Q(attempts=0) | Q(not_before__lte=clock.now())).order_by("not_before", "pk")


class Outbox(models.Model):
    """One mail to one address. Never with a secret in it: operators and backups can read it."""

    to = models.EmailField()
    subject = models.CharField(max_length=200)
    body = models.TextField()
    # Fixed here, so that a mail which is sent twice after a crash can be told to be one.
    message_id = models.CharField(max_length=300, unique=True)
    created_at = models.DateTimeField()
    # No worker sends it before then: another one is sending it, or it has just failed.
    not_before = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True)
    given_up_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(blank=True)  # of the last attempt; empty while it is being sent

    objects = OutboxQuerySet.as_manager()

    class Meta:
        verbose_name = "mail"
        verbose_name_plural = "mails"
        indexes = [
            models.Index(
                fields=["not_before"],
                name="outbox_waiting",
                condition=Q(sent_at__isnull=True, given_up_at__isnull=True),
            ),
            # The few that were given up, among all that are kept.
            models.Index(fields=["given_up_at"], name="outbox_given_up", condition=Q(given_up_at__isnull=False)),
            models.Index(fields=["created_at"], name="outbox_created"),
            models.Index(fields=["to"], name="outbox_to"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} to {self.to}"

    def claim(self) -> bool:
        """Claim the mail for this worker; return False if another one has claimed or sent it.

        The claim is a conditional update of the number of attempts, so that of two workers that read the same row only
        one succeeds, whatever their clocks say.
        """
        mine = Outbox.objects.waiting().filter(pk=self.pk, attempts=self.attempts)
        self.attempts += 1
        self.not_before = clock.now() + CLAIM
        return bool(mine.update(attempts=self.attempts, not_before=self.not_before, last_error=""))

    def message(self) -> EmailMessage:
        """Return the mail as it is handed to the mail server, the same at each attempt but for its date."""
        # RFC 3834 5: answering machines leave it alone.
        headers = {"Message-ID": self.message_id, "Auto-Submitted": "auto-generated"}
        return EmailMessage(self.subject, self.body, to=[self.to], headers=headers)

    def note_sent(self) -> None:
        """Mark the mail as sent."""
        Outbox.objects.filter(pk=self.pk).update(sent_at=clock.now(), last_error="")

    def note_failure(self, error: Exception) -> None:
        """Store the error and when to try again, with exponential backoff; after three days the mail is given up."""
        now = clock.now()
        pause = min(FIRST_PAUSE * 2 ** min(self.attempts - 1, 20), LONGEST_PAUSE)
        given_up_at = now if now - self.created_at >= KEEP_TRYING else None
        reason = " ".join(f"{type(error).__name__}: {error}".replace("\x00", "").split())
        mine = Outbox.objects.waiting().filter(pk=self.pk, attempts=self.attempts)
        mine.update(not_before=now + pause, last_error=reason[:500], given_up_at=given_up_at)

    def try_again(self) -> bool:
        """Make a failed mail due now, given up or not; return False if it was sent or is being sent."""
        failed = Outbox.objects.filter(pk=self.pk, sent_at=None).exclude(last_error="")
        return bool(failed.update(not_before=clock.now(), given_up_at=None))
