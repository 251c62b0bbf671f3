"""The account chooser, /account/choose: several accounts in one browser (docs/sign-in.md)."""

from functools import partial

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.sessions import browser_accounts
from accounts.sessions.browser_accounts import MOST, OtherAccount, TooManyAccounts, find_other, other_accounts
from core.http import split_hosts
from core.http.headers import in_popups
from core.http.split_hosts import on_admin_host
from core.storage.stored_files import image_response, read_file
from oidc.authorization import account_choice, interactions
from oidc.authorization.interactions import Interaction
from oidc.authorization.outcomes import PromptLogin
from oidc.views.authorize import login_url
from oidc.views.context_processors import asking_app
from oidc.views.logout import signed_out_url


@in_popups
@on_admin_host
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: HttpRequest) -> HttpResponse:
    """/account/choose: list the accounts that are signed in. A POST chooses one, adds one, or signs out of all."""
    sent = request.POST if request.method == "POST" else request.GET
    handle = sent.get("request", "")
    interaction = interactions.find_interaction(request.session, handle)
    following = interaction.url if interaction else _following(request, handle)
    others = other_accounts(request)
    if request.method != "POST":
        if handle and not interaction:
            return HttpResponseRedirect(following)
        return _page(request, others, interaction)
    if request.POST.get("decision") == "sign-out-all":
        browser_accounts.sign_out_all(request)
        return HttpResponseRedirect(signed_out_url(request))
    if request.POST.get("decision") == "another":
        return _sign_in_to_another(request, others, interaction, following)
    reference = request.POST.get("account", "")
    chosen = find_other(others, reference)
    if chosen is not None:
        account_choice.choose_other(request, chosen, others, interaction)
    elif reference == browser_accounts.present_reference(request):
        account_choice.choose_present(request, interaction)
    else:  # the account was signed out in the meantime: show the current list
        return HttpResponseRedirect(interaction.choose_url if interaction else reverse("account_choose"))
    return HttpResponseRedirect(following)


def _page(
    request: HttpRequest, others: list[OtherAccount], interaction: Interaction | None, *, is_full: bool = False
) -> HttpResponse:
    choices = account_choice.list_choices(request, others, interaction)
    if not choices:
        return HttpResponseRedirect(_sign_in_url(interaction, _following(request)))
    context = {
        "choices": choices,
        "request_key": interaction.handle if interaction else "",
        "asking": asking_app(interaction) if interaction else None,
        "is_full": is_full or len(choices) >= MOST,
        "most": MOST,
    }
    return render(request, "oidc/choose_account.html", context)


def _sign_in_to_another(
    request: HttpRequest, others: list[OtherAccount], interaction: Interaction | None, following: str
) -> HttpResponse:
    choices = account_choice.list_choices(request, others, interaction)
    try:
        account_choice.begin_sign_in(request)
    except TooManyAccounts:
        return _page(request, others, interaction, is_full=True)
    hint = account_choice.hint_for_sign_in(interaction, choices)
    return HttpResponseRedirect(_sign_in_url(interaction, following, hint))


def _sign_in_url(interaction: Interaction | None, following: str, hint: str = "") -> str:
    """Return the URL of the sign-in page, which leads to the named request and never to another pending one."""
    if interaction:
        return login_url(PromptLogin(hint=hint), interaction)
    return f"{reverse('account_login')}?{urlencode({'next': following})}"


def _following(request: HttpRequest, handle: str = "") -> str:
    """Return where a person goes if no request is pending: to their account, or on the admin's host to the admin.

    With the handle of a request that has ended, they go to the page that says so.
    """
    if split_hosts.serves_only(request, split_hosts.ADMIN):
        return reverse("admin:index")
    return interactions.resume_url(handle) if handle else reverse("account_home")


@on_admin_host
@never_cache
@require_safe
def photo(request: HttpRequest) -> HttpResponse:
    """GET /account/choose/photo?account=<reference>: the photo of an account in the list."""
    choices = account_choice.list_choices(request, other_accounts(request), None)
    chosen = next((each for each in choices if each.reference == request.GET.get("account")), None)
    if chosen is None or not chosen.account.picture:
        raise Http404
    return image_response(partial(read_file, chosen.account.picture.name or ""), "private, no-store")
