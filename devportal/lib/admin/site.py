"""The AdminSite: it registers ServiceModelAdmins only; the account pages do sign-in, password and sign-out."""

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

from devportal.lib import split_hosts
from devportal.lib.admin.model_admin import ServiceModelAdmin


class ServiceAdminSite(UnfoldAdminSite):  # type: ignore[misc]  # the library is untyped
    """The admin.

    Only subclasses of ServiceModelAdmin are registered: the ModelAdmins of installed packages would show session keys,
    second factors' data and tokens (docs/operations.md#the-admin).
    """

    index_title = "Admin"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        if admin_class is not None and issubclass(admin_class, ServiceModelAdmin):
            super().register(model_or_iterable, admin_class, **options)

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the sign-in page of the service; no credential is read here, by any method.

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
        """Redirect to the account's password page, which also ends the other sessions."""
        return redirect(split_hosts.link(reverse("account_change_password"), request))

    password_change_done = password_change

    def search(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The theme's global search is off: each list has a search of its own, on indexed columns."""
        raise Http404

    def logout(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the account's sign-out page."""
        return redirect("account_logout")
