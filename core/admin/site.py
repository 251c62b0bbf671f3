"""The AdminSite: it registers only ServiceModelAdmins; sign-in, password and sign-out are the account pages."""

from typing import Any

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.module_loading import import_string
from django.views.decorators.cache import never_cache
from unfold.sites import UnfoldAdminSite

from core.admin.model_admin import ServiceModelAdmin
from core.http import split_hosts
from core.http.sessions import IN_ADMIN


class ServiceAdminSite(UnfoldAdminSite):  # type: ignore[misc]  # the library is untyped
    """The admin site.

    Only subclasses of ServiceModelAdmin are registered. The ModelAdmins of installed packages would show session keys,
    data of two-step verification and tokens (docs/operations.md#the-admin).
    """

    index_title = "Admin"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        if admin_class is not None and issubclass(admin_class, ServiceModelAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether the person may use the admin; every page of the admin calls this for every method."""
        may = bool(super().has_permission(request)) and not self._lacks_second_factor(request)
        if may and IN_ADMIN not in request.session:
            request.session[IN_ADMIN] = True
        return may

    def _lacks_second_factor(self, request: HttpRequest) -> bool:
        missing: bool = settings.ADMIN_SECOND_FACTOR and import_string(settings.ADMIN_SECOND_FACTOR_MISSING)(request)
        return missing

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the sign-in page of the service; no credential is read here, with any method.

        People who may use the admin go to its index. Staff whose session lacks two-step verification go to the page
        that asks for it. Anyone else who is signed in gets 403, because the sign-in page would send them back here.
        """
        index = reverse("admin:index", current_app=self.name)
        if self.has_permission(request):
            return redirect(index)
        wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
        wanted = wanted if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) else index
        if super().has_permission(request):
            page = reverse(settings.ADMIN_SECOND_FACTOR_PAGE)
            return redirect(f"{page}?{urlencode({REDIRECT_FIELD_NAME: wanted})}")
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(wanted)

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the account's password page, which also ends the other sessions."""
        return redirect(split_hosts.link(reverse("account_change_password"), request))

    password_change_done = password_change

    def search(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Turn off the theme's global search: each list has its own search, on indexed columns."""
        raise Http404

    def logout(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the account's sign-out page."""
        return redirect("account_logout")
