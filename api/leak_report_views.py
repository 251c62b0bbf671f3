"""POST /hooks/leaked-credentials for secret scanners, and the page on which anyone can report a leaked credential."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from api import leak_reports
from api.leak_reports import ReportError
from api.leaked_credentials import FLAG, Source
from core.http.client_ip import limit_key
from core.http.responses import envelope
from core.limits.counters import Throttled, check_rate
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


@csrf_exempt
def leak_webhook(request: HttpRequest) -> HttpResponse:
    """Take a secret scanner's report; its signature authenticates it."""
    try:
        response = JsonResponse(_take(request), safe=False)
    except ReportError as refused:
        if refused.status != 404:
            metrics.leak_reported(Source.GITHUB, refused.code)
        response = JsonResponse(envelope(refused.code, refused.message), status=refused.status)
        if refused.status == 405:
            response["Allow"] = "POST"
        if refused.retry_after:
            response["Retry-After"] = str(refused.retry_after)
    response["Cache-Control"] = "no-store"
    return response


def _take(request: HttpRequest) -> list[dict[str, str]]:
    if not settings.LEAK_REPORT_KEYS:
        raise ReportError(404, "not_found", "Reports are off: LEAK_REPORT_KEYS is not set.")
    if request.method != "POST":
        raise ReportError(405, "method_not_allowed", "Use POST.")
    body = _body(request)
    identifier, signature = (
        request.headers.get(f"Github-Public-Key-{name}", "") for name in ("Identifier", "Signature")
    )
    try:
        leak_reports.verify_signature(identifier, signature, body)
    except ReportError:
        _count_failure(request)
        raise
    return leak_reports.take_report(body)


def _count_failure(request: HttpRequest) -> None:
    """Count a report with an invalid signature by IP address. Raises ReportError above FAILURES_PER_MINUTE."""
    try:
        check_rate("leak report failures", limit_key(request), settings.FAILURES_PER_MINUTE)
    except Throttled as limited:
        text = "Too many reports with an invalid signature."
        raise ReportError(429, "rate_limited", text, limited.retry_after) from limited


def _body(request: HttpRequest) -> bytes:
    try:
        body = request.body
    except RequestDataTooBig:
        body = b" " * (MAX_BODY_BYTES + 1)
    if len(body) > MAX_BODY_BYTES:
        raise ReportError(413, "too_large", f"A report has at most {MAX_BODY_BYTES} bytes.")
    return body


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
    """/leaked-credentials: the form for a key or secret that somebody found."""
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
