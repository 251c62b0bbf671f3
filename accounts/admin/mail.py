"""Admin pages of the outbox: waiting, sent and failed mails, and previews of every email of the service."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from accounts.mail.rendering import render_mail
from accounts.mail.samples import all_samples, in_scheme
from accounts.models import Outbox
from core.admin.actions import ActionRefused, RowAction
from core.admin.model_admin import ReadOnlyModelAdmin
from core.audit import Event, report
from core.email_addresses import address_to_find


def _try_again(request: HttpRequest, mail: Outbox, form: Any) -> str:
    if not mail.try_again():
        raise ActionRefused("The email has already been sent, or is being sent now.")
    report(Event("mail.tried_again", request.user.pk, target=f"mail:{mail.pk}"))
    return "The email will be sent within a few seconds, if the mail server accepts it."


@admin.register(Outbox)
class OutboxAdmin(ReadOnlyModelAdmin[Outbox]):
    """Emails: waiting, sent and failed ones."""

    empty_text = "No email was written lately. Emails are listed for OUTBOX_DAYS after they were sent."
    list_display = ("to", "subject", "created_at", "sent_at", "attempts", "given_up_at", "last_error")
    search_help_text = "A complete email address"
    row_actions = (
        RowAction(
            "retry",
            "Try again",
            "The email is sent to the mail server again within seconds. If that fails too, an email that is older "
            "than three days is given up immediately.",
            _try_again,
            is_open=lambda request, row: row.sent_at is None and bool(row.last_error) and not row.is_wiped,
            icon="replay",
        ),
    )

    change_list_template = "admin/accounts/outbox_list.html"

    def get_urls(self) -> list[URLPattern]:
        page = self.admin_site.admin_view(self.sample_view)
        return [
            path("samples/", self.admin_site.admin_view(self.samples_view), name="accounts_outbox_samples"),
            path("samples/<slug:template>/<int:number>/", page, name="accounts_outbox_sample"),
            *super().get_urls(),
        ]

    def samples_view(self, request: HttpRequest) -> HttpResponse:
        """Show every email that the service sends, and what causes it (docs/mail.md#preview)."""
        self._check(request)
        context = {"title": "What the emails look like", "samples": all_samples()}
        return self._page(request, "admin/accounts/mail_samples.html", context)

    def sample_view(self, request: HttpRequest, template: str, number: int) -> HttpResponse:
        """Show one email with sample values, in light and dark and as text."""
        self._check(request)
        samples = all_samples()
        cases = list(samples[template].cases.items()) if template in samples else []
        if not 0 < number <= len(cases):
            raise Http404
        case, values = cases[number - 1]
        mail = render_mail(template, dict(values))
        context = {
            "title": mail.subject,
            "mail": mail,
            "looks": [(name, in_scheme(mail.html, dark=name == "dark")) for name in ("light", "dark")],
            "template": template,
            "case": case,
            "number": number,
            "sample": samples[template],
        }
        return self._page(request, "admin/accounts/mail_sample.html", context)

    def _check(self, request: HttpRequest) -> None:
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request):
            raise PermissionDenied

    def _page(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        return TemplateResponse(
            request, template, {**self.admin_site.each_context(request), "opts": self.opts, **context}
        )

    def search_filter(self, term: str) -> Q:
        return Q(to=address_to_find(term))

    def audit_target(self, row: Outbox) -> str:
        return f"mail:{row.pk}"
