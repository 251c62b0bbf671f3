"""POST /hooks/leaked-credentials for secret scanners, and the page on which anyone can report a leaked credential."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from api import leak_reports
from api.leaked_credentials import FLAG, Source
from core.http.responses import envelope
from core.http.webhooks import WebhookError, count_failure, read_body, webhook
from core.limits.middleware import limited_by_address
from core.serving.errors import refusals_of
from core.telemetry import metrics

PATH = "/hooks/leaked-credentials"
MAX_BODY_BYTES = 256 * 1024


@refusals_of(PATH)
def refused_by_server(status: int, message: str) -> HttpResponse:
    """Return the error for a request that the server rejects before Django: overload (503), or its body."""
    code = {413: "too_large", 503: "unavailable"}.get(status, "malformed")
    return JsonResponse(envelope(code, message), status=status)


@webhook
def leak_webhook(request: HttpRequest) -> list[dict[str, str]]:
    """Take a secret scanner's report; its signature authenticates it."""
    if not settings.LEAK_REPORT_KEYS:
        raise WebhookError(404, "not_found", "Reports are off: LEAK_REPORT_KEYS is not set.")
    try:
        return _take(request)
    except WebhookError as refused:
        metrics.LEAK_REPORTS.count(Source.GITHUB, refused.code)
        raise


def _take(request: HttpRequest) -> list[dict[str, str]]:
    body = read_body(request, MAX_BODY_BYTES)
    identifier, signature = (
        request.headers.get(f"Github-Public-Key-{name}", "") for name in ("Identifier", "Signature")
    )
    try:
        leak_reports.verify_signature(identifier, signature, body)
    except WebhookError:
        count_failure(request, "leak report failures")
        raise
    return leak_reports.take_report(body)


class _Unshown(forms.Textarea):
    """A text area that never contains what was sent."""

    def format_value(self, value: Any) -> None:
        return None


class LeakForm(forms.Form):
    """The pasted credential."""

    credential = forms.CharField(
        label="Key or secret",
        max_length=leak_reports.LONGEST_TEXT,
        help_text="Paste the key or secret, or the line that contains it.",
        widget=_Unshown(attrs={"rows": 4, "autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}),
        error_messages={
            "required": "Paste the key or secret.",
            "max_length": "This is too long. Paste only the line that contains the key or secret.",
            "null_characters_not_allowed": "This contains characters that a key or secret can’t have.",
        },
    )


@limited_by_address
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def report_leak(request: HttpRequest) -> HttpResponse:
    """/leaked-credentials: the form for a key or secret that someone found."""
    form = LeakForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        leak_reports.take_pasted(form.cleaned_data["credential"])
        return HttpResponseRedirect(reverse("leak_reported"))
    return render(request, "api/report_leak.html", _texts() | {"form": form})


@never_cache
@require_safe
def leak_reported(request: HttpRequest) -> HttpResponse:
    """GET /leaked-credentials/sent: the same answer for every report."""
    return render(request, "api/leak_reported.html", _texts())


def _texts() -> dict[str, Any]:
    return {
        "revokes": settings.LEAKED_CREDENTIALS != FLAG,
        "api_key_prefix": settings.API_KEY_PREFIX,
        "secret_prefix": settings.CLIENT_SECRET_PREFIX,
    }
