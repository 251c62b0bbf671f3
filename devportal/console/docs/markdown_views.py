"""The docs for programs: each page as Markdown, and llms.txt."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from devportal.console.docs import markdown
from devportal.console.docs.pages import INDEX, PAGES

# Nothing in them is anybody's; a deploy may change them.
MAX_AGE = 300  # seconds


@require_safe
def page_markdown(request: HttpRequest, path: str) -> HttpResponse:
    """GET /docs/….md: a page as Markdown (RFC 7763), with placeholders in its code; the overview is called index."""
    page = next((page for page in PAGES.values() if (page.path or INDEX) == path), None)
    if page is None:
        raise Http404
    return _public(markdown.page_as_markdown(page.name), "text/markdown")


@require_safe
def llms_txt(request: HttpRequest) -> HttpResponse:
    """GET /llms.txt: the pages of the docs, with a line for each."""
    return _public(markdown.llms_txt(), "text/plain")


def _public(text: str, content_type: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{content_type}; charset=utf-8")
    response["Cache-Control"] = f"public, max-age={MAX_AGE}"
    return response
