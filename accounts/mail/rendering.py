"""Mails in HTML and text, both of one template (docs/mail.md)."""

import re
from dataclasses import dataclass
from typing import Any

import css_inline
from django.conf import settings
from django.template import Context
from django.template.engine import Engine

from accounts.mail.plain_text import read_html

SUBJECT_LENGTH = 200
# Mail programs that drop a mail's style sheets keep what stands at its elements. The dark scheme is a sheet of its own,
# which base.html marks to be kept.
_INLINER = css_inline.CSSInliner(load_remote_stylesheets=False)
# Controls (category Cc) but tab and line end, surrogates (Cs), and characters that turn around what stands behind them,
# beyond the words of whoever wrote them (UAX #9, 2.1 to 2.5).
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_BLANK_LINES = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Mail:
    """A mail that can be sent: the HTML says the same as the text."""

    subject: str
    text: str
    html: str = ""


def render_mail(template: str, context: dict[str, Any]) -> Mail:
    """Return the mail of `templates/mail/<template>.html`, whose title is the subject.

    The template sees the context and what all mails know: `service_name`, `site` (the address of this service), and
    `support_email` and `help_url`, "" if there is none. Raises TemplateDoesNotExist.
    """
    known = {
        "service_name": settings.SERVICE_NAME,
        "site": settings.AUTH_URL,
        "support_email": settings.SUPPORT_EMAIL,
        "help_url": settings.HELP_URL,
    }
    source = Engine.get_default().get_template(f"mail/{template}.html")
    html = printable(source.render(Context(known | context)))
    title, text = read_html(html)
    subject = f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}{title}"[:SUBJECT_LENGTH]
    return Mail(subject, text, _BLANK_LINES.sub("\n", _INLINER.inline(html)))


def printable(text: str) -> str:
    """Drop control characters but line ends and tabs: some would end a header, others no database stores.

    Drops those too that turn around the text behind them.
    """
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    return printable(" ".join(text.split()))
