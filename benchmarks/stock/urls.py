"""The library's own endpoints, where its tutorial mounts them."""

from django.urls import include, path

urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]
