"""URLs below /apps/."""

from django.urls import path

from devportal.review import app_pages, app_reports

urlpatterns = [
    path("report/<str:client_id>", app_reports.report, name="app_report"),
    path("report/<str:client_id>/sent", app_reports.sent, name="app_report_sent"),
    path("<slug:slug>/", app_pages.public_page, name="app_page"),
]
