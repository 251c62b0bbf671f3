"""URLs of the public docs: each page, the same path with `.md` for Markdown, and the search."""

from django.urls import path

from devportal.docs import markdown, views
from devportal.docs.pages import PAGES
from devportal.docs.search import sections as search_views
from devportal.docs.try_it.views import try_it

urlpatterns = [
    path("search", search_views.docs_search, name="docs_search"),
    path("api/", try_it, name="api_try_it"),
    path("<path:path>.md", markdown.page_markdown, name="docs_markdown"),
    *(path(page.path, views.docs_page, {"page": page}, name=f"docs_{name}") for name, page in PAGES.items()),
]
