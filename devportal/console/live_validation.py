"""Live validation for forms, as JSON, with the same rules as the forms."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse

from core.limits.forms import limited_by_person
from devportal.console.shortcuts import console_page
from oidc import names
from oidc.clients import redirect_uris


@limited_by_person
@console_page("POST")
def check_name(request: HttpRequest) -> HttpResponse:
    """POST `name`: its error, or "" if it is valid."""
    try:
        names.validate_name(request.POST.get("name", "").strip())
    except ValidationError as error:
        return JsonResponse({"error": error.messages[0]})
    return JsonResponse({"error": ""})


@limited_by_person
@console_page("POST")
def check_addresses(request: HttpRequest) -> HttpResponse:
    """POST `address` (repeated): the error and notes of each URL."""
    entries = redirect_uris.check_each(request.POST.getlist("address"))
    return JsonResponse({"entries": [{"error": entry.error, "notes": entry.notes} for entry in entries]})
