"""What forms ask while somebody types: the same rules as when the form is sent, answered as JSON."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse

from devportal.console.shortcuts import console_page
from oidc import names
from oidc.clients import redirect_uris


@console_page("POST")
def check_name(request: HttpRequest) -> HttpResponse:
    """POST name: what is wrong with it, "" for nothing."""
    try:
        names.validate_name(request.POST.get("name", "").strip())
    except ValidationError as error:
        return JsonResponse({"error": error.messages[0]})
    return JsonResponse({"error": ""})


@console_page("POST")
def check_addresses(request: HttpRequest) -> HttpResponse:
    """POST address, repeated: for each what is wrong with it, and what to know of it."""
    entries = redirect_uris.check_each(request.POST.getlist("address"))
    return JsonResponse({"entries": [{"error": entry.error, "notes": entry.notes} for entry in entries]})
