"""The public docs (/docs/): for everybody, without signing in."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from devportal.console import snippets
from devportal.console.documentation import errors, examples, facts
from devportal.console.documentation.pages import SECTIONS, Page


@require_safe
def page(request: HttpRequest, page: Page) -> HttpResponse:
    """GET /docs/…: one page."""
    template = "quick_start" if page.app_type else page.name
    context = facts.facts() | facts.of_page(page.name) | examples.examples(page.name) | more(request, page)
    return render(request, f"docs/{template}.html", context | {"page": page, "sections": SECTIONS})


def more(request: HttpRequest, page: Page) -> dict[str, Any]:
    """Return what the page shows beside facts and examples: code in the language asked for, or the errors."""
    if page.app_type:
        language = snippets.chosen_language(request.GET.get("language", ""), page.app_type)
        app = snippets.App(page.app_type, examples.CLIENT_ID, snippets.SUGGESTED_REDIRECT_URI)
        return {
            "languages": snippets.LANGUAGES,
            "language": language,
            "blocks": snippets.blocks(app, language),
            "redirect_uri": app.redirect_uri,
            "placeholder": app.client_id,
        }
    if page.name == "api_key":
        return {"blocks": snippets.key_blocks()}
    if page.name == "errors":
        return {
            "api_errors": errors.api_errors(),
            "authorization_errors": errors.authorization_errors(),
            "token_errors": errors.token_errors(),
        }
    return {}
