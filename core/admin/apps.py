"""App config of the admin: Django's, with this service's AdminSite."""

from django.contrib.admin.apps import AdminConfig


class ServiceAdminConfig(AdminConfig):
    default_site = "core.admin.site.ServiceAdminSite"
