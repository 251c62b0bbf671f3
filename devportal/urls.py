"""The URLs of the whole service."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from devportal.console.home_page import home, robots_txt, security_txt
from devportal.console.urls import console_urls
from devportal.docs.rendering import llms_txt
from devportal.review import urls as review_urls

admin.autodiscover()

urlpatterns = [
    path("", home, name="home"),
    path("", include("api.urls")),
    path("", include("oidc.urls")),
    path("", include("accounts.urls")),
    path("account/", include("allauth.account.urls")),
    path("account/2fa/", include("allauth.mfa.urls")),
    path("console/", include(console_urls(review_urls.project_pages, review_urls.client_pages))),
    path("apps/", include("devportal.review.urls")),
    path("docs/", include("devportal.docs.urls")),
    path("admin/", admin.site.urls),
    path(".well-known/security.txt", security_txt, name="security_txt"),
    path("robots.txt", robots_txt, name="robots_txt"),
    path("llms.txt", llms_txt, name="llms_txt"),
    path("favicon.ico", RedirectView.as_view(url=f"{settings.STATIC_URL}img/mark.svg")),
]

handler400 = "core.http.error_pages.bad_request"
handler403 = "core.http.error_pages.permission_denied"
handler404 = "devportal.console.home_page.page_not_found"
handler429 = "core.http.error_pages.too_many_requests"
handler500 = "core.http.error_pages.server_error"
