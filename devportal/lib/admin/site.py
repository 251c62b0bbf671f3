"""The admin's site: pages of ours alone, and sign-in, password and sign-out where everybody has theirs."""

from typing import Any

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from unfold.sites import UnfoldAdminSite

from devportal.lib.admin.model_admin import ServiceModelAdmin


class ServiceAdminSite(UnfoldAdminSite):  # type: ignore[misc]  # the library is untyped
    """The admin.

    A model is shown by a page of ours or not at all: what installed packages register would show sessions' keys,
    second factors' data and tokens (security rule 10).
    """

    index_title = "Admin"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        if admin_class is not None and issubclass(admin_class, ServiceModelAdmin):
            super().register(model_or_iterable, admin_class, **options)

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Send to the page where everybody signs in; whatever the method, no credential is read here.

        Whoever may enter goes to the index. Somebody signed in who may not gets 403: the sign-in page would send them
        back.
        """
        index = reverse("admin:index", current_app=self.name)
        if self.has_permission(request):
            return redirect(index)
        if request.user.is_authenticated:
            raise PermissionDenied
        wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
        return redirect_to_login(wanted if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) else index)

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
