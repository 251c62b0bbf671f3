"""URLs below /apps/, and pages of app review among those of a project and of a client in the console."""

from django.urls import path

from devportal.review import app_pages, views
from devportal.review.cases import app_reports

project_pages = [
    path("appeal", views.project_appeal, name="project_appeal"),
]

client_pages = [
    path("page", app_pages.publish, name="app_page"),
    path("branding", views.branding, name="branding"),
    path("review", views.review, name="review"),
    path("review/appeal", views.review_appeal, name="review_appeal"),
    path("review/preview/<int:number>", views.review_preview, name="review_preview"),
    path("review/logo/<slug:version>.webp", views.review_logo, name="review_logo"),
]

urlpatterns = [
    path("report/<str:client_id>", app_reports.report, name="app_report"),
    path("report/<str:client_id>/sent", app_reports.sent, name="app_report_sent"),
    path("<slug:slug>/", app_pages.public_page, name="app_page"),
]
