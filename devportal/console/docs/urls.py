"""The public docs: one path for each page."""

from django.urls import path

from devportal.console.docs import views
from devportal.console.docs.pages import PAGES

urlpatterns = [path(page.path, views.docs_page, {"page": page}, name=f"docs_{name}") for name, page in PAGES.items()]
