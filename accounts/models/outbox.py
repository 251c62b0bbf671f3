"""The outbox: mails that wait to be sent, were sent, or were given up."""

import re
from datetime import timedelta

from django.core.mail import EmailMultiAlternatives
from django.db import models
from django.db.models import Q

from core import clock
from core.database import encryption

# A sender that was killed leaves its claim behind; after this time another one takes the email. This is longer than a
# delivery takes (MAIL_DELIVERY_SECONDS each to connect and to send), and short compared with the validity of a code.
CLAIM = timedelta(minutes=2)
FIRST_PAUSE = timedelta(seconds=30)  # after a failure; doubled at each further one
LONGEST_PAUSE = timedelta(hours=1)
CODE_PAUSE = timedelta(seconds=15)  # for an email that expires: someone is waiting for it
KEEP_TRYING = timedelta(days=3)
# In an email, a code is on a separate, indented line.
_CODE = re.compile(r"^ {4}(\S+)$", re.MULTILINE)
# New values of an email with a code once it is sent, or given up.
WIPED = {"body_encrypted": "", "html_encrypted": ""}


class OutboxQuerySet(models.QuerySet["Outbox"]):
    def waiting(self) -> "OutboxQuerySet":
        """Return the emails that are neither sent nor given up."""
        return self.filter(sent_at=None, given_up_at=None)

    def unclaimed(self) -> "OutboxQuerySet":
        """Return the waiting mails that nobody is sending, including those of web servers whose clock is ahead."""
        return self.waiting().filter(Q(attempts=0) | Q(not_before__lte=clock.now()))

    def due(self) -> "OutboxQuerySet":
        """Return the emails that may be sent now, the oldest first."""
        in_time = Q(expires_at=None) | Q(expires_at__gt=clock.now())
        return self.unclaimed().filter(in_time).order_by("not_before", "pk")

    def next_due(self, limit: int) -> "tuple[list[Outbox], list[Outbox]]":
        """Return the emails to be sent next: first codes and other emails that expire, and then the others."""
        first = list(self.due().exclude(expires_at=None)[:limit])
        return first, list(self.due().filter(expires_at=None)[: limit - len(first)])

    def expire(self) -> int:
        """Give up the emails whose code is no longer valid, and wipe them; return how many there were."""
        over = self.unclaimed().filter(expires_at__lte=clock.now())
        return over.update(given_up_at=clock.now(), **WIPED)


class Outbox(models.Model):
    """One email to one email address.

    An email that expires (`expires_at`) contains a code, or must look like one that does: its text is encrypted, and
    wiped once it is sent or given up. All others contain no secret: operators and backups can read them.
    """

    to = models.EmailField()
    subject = models.CharField(max_length=200)
    body = models.TextField(blank=True)
    html = models.TextField(blank=True, default="", editable=False)  # the same content as HTML
    body_encrypted = models.TextField(blank=True, default="", editable=False)
    html_encrypted = models.TextField(blank=True, default="", editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    # A mail to someone whose account was deleted: the row, with the email address, is deleted once it is sent or given
    # up.
    is_last = models.BooleanField(default=False, editable=False)
    # Fixed here, so that an email that is sent twice after a crash can be recognized as the same.
    message_id = models.CharField(max_length=300, unique=True)
    created_at = models.DateTimeField()
    # No worker sends it before this time: another one is sending it, or it has just failed.
    not_before = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True)
    given_up_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(blank=True)  # of the last attempt; empty while it is being sent

    codes: tuple[str, ...] | list[str] = ()  # the codes in a message that was built
    objects = OutboxQuerySet.as_manager()

    class Meta:
        verbose_name = "email"
        indexes = [
            models.Index(
                fields=["not_before"],
                name="outbox_waiting",
                condition=Q(sent_at__isnull=True, given_up_at__isnull=True),
            ),
            # The few emails that were given up; this excludes mails whose code expired.
            models.Index(
                fields=["given_up_at"],
                name="outbox_given_up",
                condition=Q(given_up_at__isnull=False, expires_at__isnull=True),
            ),
            models.Index(
                fields=["expires_at"],
                name="outbox_expiring",
                condition=Q(sent_at__isnull=True, given_up_at__isnull=True, expires_at__isnull=False),
            ),
            models.Index(fields=["created_at"], name="outbox_created"),
            models.Index(fields=["to", "-id"], name="outbox_to"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} to {self.to}"

    @property
    def is_wiped(self) -> bool:
        """Return whether its text was wiped, so that it can't be sent (again)."""
        return self.expires_at is not None and not self.body_encrypted

    def claim(self) -> bool:
        """Claim the email for this worker; return False if another one has claimed or sent it.

        The claim is a conditional update of the number of attempts, so that of two workers that read the same row only
        one succeeds, whatever their clocks say.
        """
        mine = Outbox.objects.waiting().filter(pk=self.pk, attempts=self.attempts)
        self.attempts += 1
        self.not_before = clock.now() + CLAIM
        return bool(mine.update(attempts=self.attempts, not_before=self.not_before, last_error=""))

    def text(self) -> str:
        """Return the email's text. Raises cryptography.fernet.InvalidToken if it was encrypted with another key."""
        return encryption.decrypt(self.body_encrypted) if self.body_encrypted else self.body

    def html_text(self) -> str:
        """Return the email as HTML, "" if it was queued without HTML. Raises as `text` does."""
        return encryption.decrypt(self.html_encrypted) if self.html_encrypted else self.html

    def message(self) -> EmailMultiAlternatives:
        """Return the email for the mail server, which is the same at each attempt except for its date."""
        # RFC 3834 5: tells auto-responders not to answer.
        headers = {"Message-ID": self.message_id, "Auto-Submitted": "auto-generated"}
        text = self.text()
        self.codes = _CODE.findall(text)
        message = EmailMultiAlternatives(self.subject, text, to=[self.to], headers=headers)
        if html := self.html_text():
            message.attach_alternative(html, "text/html")
        return message

    def note_sent(self) -> None:
        """Mark the email as sent; wipe a text with a code, and delete the last email to a deleted account."""
        mine = Outbox.objects.filter(pk=self.pk)
        if self.is_last:
            mine.delete()
        else:
            mine.update(sent_at=clock.now(), last_error="", **WIPED)

    def note_failure(self, error: Exception, *, is_final: bool = False) -> None:
        """Store the error and when to try again, with exponential backoff; after three days the email is given up.

        An email that expires is tried every CODE_PAUSE while it is valid, and given up immediately if `is_final`.
        """
        now = clock.now()
        changes = {"last_error": self._words_of(error)}
        if self.expires_at is None:
            pause = min(FIRST_PAUSE * 2 ** min(self.attempts - 1, 20), LONGEST_PAUSE)
            given_up = now - self.created_at >= KEEP_TRYING
        else:
            pause, given_up = CODE_PAUSE, is_final
            if given_up:
                changes |= WIPED
        mine = Outbox.objects.waiting().filter(pk=self.pk, attempts=self.attempts)
        if given_up and self.is_last:
            mine.delete()
            return
        mine.update(not_before=now + pause, given_up_at=now if given_up else None, **changes)

    def _words_of(self, error: Exception) -> str:
        """Return the text of the error, without codes that the mail server may have repeated."""
        words = " ".join(f"{type(error).__name__}: {error}".replace("\x00", "").split())
        for code in self.codes:
            words = words.replace(code, "…")
        return words[:500]

    def try_again(self) -> bool:
        """Make a failed mail due now, even if it was given up; return False if it is sent, being sent, or wiped."""
        failed = Outbox.objects.filter(pk=self.pk, sent_at=None).exclude(last_error="")
        left = failed.exclude(expires_at__isnull=False, body_encrypted="")
        return bool(left.update(not_before=clock.now(), given_up_at=None))
