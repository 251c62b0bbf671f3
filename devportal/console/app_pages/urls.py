"""The addresses below /apps/."""

from django.urls import path

from devportal.console.app_pages import report_views, views

urlpatterns = [
    path("report/<str:client_id>", report_views.report, name="app_report"),
    path("report/<str:client_id>/sent", report_views.sent, name="app_report_sent"),
    path("<slug:slug>/", views.public_page, name="app_page"),
]
