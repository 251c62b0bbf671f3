"""The tester of the playground: a dry run of a pasted request."""

from django.http import HttpRequest, HttpResponse

from core.limits.middleware import limited_by_person
from devportal.console.access import get_client
from devportal.console.fixes import with_fixes
from devportal.console.navigation import console_page
from devportal.console.playground.forms import TesterForm
from devportal.console.playground.views import show_playground
from oidc.authorization.tester import check_request
from oidc.sign_out.tester import check_sign_out, is_sign_out


@limited_by_person
@console_page("POST", form_at="console:playground")
def client_tester(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/playground/tester: check a pasted authorization or sign-out request, and show the result of each check."""
    membership, client = get_client(request, project_id, client_id)
    form = TesterForm(request.POST)
    text = form.cleaned_data["url"] if form.is_valid() else ""
    sign_out = is_sign_out(text)
    results = (check_sign_out if sign_out else check_request)(client, text) if text else []
    return show_playground(
        request,
        membership,
        client,
        tester=form,
        is_sign_out=sign_out,
        steps=with_fixes(membership, client, results),
        failed=next((result for result in results if result.passed is False), None),
        failures=sum(result.passed is False for result in results),
    )
