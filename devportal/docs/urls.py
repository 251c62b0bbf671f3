"""URLs of the public docs: each page, the same path with `.md` for Markdown, and the search."""

from django.urls import path

from devportal.docs import rendering, views
from devportal.docs import search as search_views
from devportal.docs.pages import PAGES
from devportal.docs.try_it import try_it

urlpatterns = [
    path("search", search_views.docs_search, name="docs_search"),
    path("api/", try_it, name="api_try_it"),
    path("<path:path>.md", rendering.page_markdown, name="docs_markdown"),
    *(path(page.path, views.docs_page, {"page": page}, name=f"docs_{name}") for name, page in PAGES.items()),
]
