"""Search of the docs, for everybody."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from devportal.console.search.ranking import marked
from devportal.console.search.sections import docs_index
from devportal.console.search.words import clean

MOST = 20


@require_safe
def docs_search(request: HttpRequest) -> HttpResponse:
    """GET /docs/search?q=…: the sections that answer it best, with the words marked."""
    query = clean(request.GET.get("q", ""))
    found = docs_index().search(query, MOST + 1) if query else []
    hits = [{"section": section, "pieces": marked(section.text, query)} for section in found[:MOST]]
    told = {"page": {"title": "Search"}, "query": query, "hits": hits, "has_more": len(found) > MOST}
    return render(request, "docs/search.html", told)
