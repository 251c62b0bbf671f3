"""The public docs: one path for each page, the same with `.md` for it as Markdown, and their search."""

from django.urls import path

from devportal.console.docs import markdown_views, views
from devportal.console.docs.pages import PAGES
from devportal.console.docs.try_it.views import try_it
from devportal.console.search import views as search_views

urlpatterns = [
    path("search", search_views.docs_search, name="docs_search"),
    path("api/", try_it, name="api_try_it"),
    path("<path:path>.md", markdown_views.page_markdown, name="docs_markdown"),
    *(path(page.path, views.docs_page, {"page": page}, name=f"docs_{name}") for name, page in PAGES.items()),
]
