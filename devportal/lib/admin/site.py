"""The admin's site: pages of ours alone, and sign-in, password and sign-out where everybody has theirs."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.sites import UnfoldAdminSite

from devportal.lib.admin.pages import Page


class Site(UnfoldAdminSite):  # type: ignore[misc]  # the library is untyped
    """The admin.

    A model is shown by a page of ours or not at all: what installed packages register would show sessions' keys,
    second factors' data and tokens (security rule 10).
    """

    index_title = "Admin"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        if admin_class is not None and issubclass(admin_class, Page):
            super().register(model_or_iterable, admin_class, **options)

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Send to the page where everybody changes their password; it ends the other sessions too."""
        return redirect("account_change_password")

    def password_change_done(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return redirect("account_change_password")

    def search(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The theme's own search is not offered: each list has one that knows its indexes."""
        raise Http404

    def logout(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Sign out on the page where everybody does."""
        return redirect("account_logout")
