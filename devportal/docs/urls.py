"""URLs of the public docs: each page, the same path with `.md` for Markdown, the search, and the feed."""

from django.urls import path

from devportal.docs import rendering, views
from devportal.docs import search as search_views
from devportal.docs.changelog import changelog_feed
from devportal.docs.pages import PAGES
from devportal.docs.try_it import try_it

urlpatterns = [
    path("search", search_views.docs_search, name="docs_search"),
    path("api/", try_it, name="api_try_it"),
    path("changelog.atom", changelog_feed, name="docs_changelog_feed"),
    path("apis/<slug:slug>/oauth-protected-resource.json", views.api_metadata, name="docs_api_metadata"),
    path("apis/<slug:slug>", views.api_docs, name="docs_api"),
    path("<path:path>.md", rendering.page_markdown, name="docs_markdown"),
    *(path(page.path, views.docs_page, {"page": page}, name=f"docs_{name}") for name, page in PAGES.items()),
]
