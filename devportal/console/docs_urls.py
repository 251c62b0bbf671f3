"""The public docs: one path for each page."""

from django.urls import path

from devportal.console.documentation.pages import PAGES
from devportal.console.views import docs

urlpatterns = [path(page.path, docs.page, {"page": page}, name=f"docs_{name}") for name, page in PAGES.items()]
