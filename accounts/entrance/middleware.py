"""The middleware of pages for people.

It comes after django-allauth's middleware, so that this handler of exceptions runs before the library's.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from accounts.entrance import forms, unfinished_sign_ins, waiting_forms
from accounts.sessions import browser_accounts, known_browsers


class PeopleMiddleware:
    """Sets the cookies of this browser, and answers what the steps of a sign-in raise or show."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        browser_accounts.set_cookie(request, response)
        known_browsers.set_cookie(request, response)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return waiting_forms.reauthenticate(request, exception) or unfinished_sign_ins.restart(request, exception)

    def process_template_response(self, request: HttpRequest, response: Any) -> Any:
        return forms.redirect_or_prepare(request, response)
