"""The endpoints of the library, at the paths of its tutorial."""

from django.urls import include, path

urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]
