"""The admin as an app: Django's, with our site."""

from django.contrib.admin.apps import AdminConfig


class ServiceAdminConfig(AdminConfig):
    default_site = "devportal.lib.admin.site.ServiceAdminSite"
