"""The public docs (/docs/), which need no sign-in."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from devportal.console import quick_start
from devportal.docs import context as doc_context
from devportal.docs import errors, examples
from devportal.docs.guides import registry
from devportal.docs.guides.readers import reader_of
from devportal.docs.guides.registry import groups
from devportal.docs.pages import DocsPage


@require_safe
def docs_page(request: HttpRequest, page: DocsPage) -> HttpResponse:
    """GET /docs/…: one page."""
    template = "quick_start" if page.app_type else f"guides/{page.guide.name}" if page.guide else page.name
    context = (
        doc_context.service_context()
        | doc_context.page_context(page.name)
        | examples.examples(page.name)
        | extra_context(request, page)
    )
    return render(request, f"docs/{template}.html", context | {"page": page})


def extra_context(request: HttpRequest, page: DocsPage) -> dict[str, Any]:
    """Return further context for a page: code in the requested language, or the errors."""
    if page.app_type:
        language = quick_start.chosen_language(request.GET.get("language", ""), page.app_type)
        app = quick_start.QuickStartApp(page.app_type, examples.CLIENT_ID, quick_start.SUGGESTED_REDIRECT_URI)
        return {
            "languages": quick_start.LANGUAGES,
            "language": language,
            "blocks": quick_start.quick_start_blocks(app, language),
            "redirect_uri": app.redirect_uri,
            "placeholder": app.client_id,
        }
    if page.guide:
        return {"guide": page.guide, "reader": reader_of(request, page.guide)}
    if page.name == "guides":
        return {"groups": groups(), "runs": registry.read_runs()}
    if page.name == "api_key":
        return {"blocks": quick_start.api_key_blocks()}
    if page.name == "errors":
        return {
            "api_errors": errors.api_errors(),
            "authorization_errors": errors.authorization_errors(),
            "token_errors": errors.token_errors(),
            "authorization_reasons": errors.authorization_reasons(),
            "token_reasons": errors.token_reasons(),
            "sign_out_reasons": errors.sign_out_reasons(),
        }
    return {}
