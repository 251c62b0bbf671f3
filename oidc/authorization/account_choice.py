"""The accounts that the account chooser lists, and pending requests when another account is chosen."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpRequest

from accounts.models import Account, PairwiseSubject
from accounts.sessions import browser_accounts
from accounts.sessions.browser_accounts import OtherAccount
from core.email_addresses import address_to_find
from oidc.authorization import interactions
from oidc.authorization.interactions import Interaction
from oidc.clients.lookup import find_client
from oidc.errors import InvalidToken
from oidc.tokens import jwt


@dataclass(frozen=True)
class Choice:
    """An account in the chooser's list."""

    reference: str
    account: Account
    is_present: bool
    is_asked_for: bool  # by login_hint or id_token_hint

    @property
    def name(self) -> str:
        return self.account.full_name or self.account.email

    @property
    def letter(self) -> str:
        return self.name[:1].upper()


def list_choices(request: HttpRequest, others: Iterable[OtherAccount], interaction: Interaction | None) -> list[Choice]:
    """Return the accounts that are signed in: the ones that the app asks for first, then the present one."""
    asked_for = _hinted_account(interaction) if interaction else None
    hint = _login_hint(interaction)

    def choice(reference: str, account: Account, *, is_present: bool) -> Choice:
        is_hinted = account.email == hint if asked_for is None else account.pk == asked_for
        return Choice(reference, account, is_present, is_hinted)

    present = browser_accounts.present_reference(request)
    listed = [choice(each.reference, each.account, is_present=False) for each in others]
    if present is not None and isinstance(request.user, Account):
        listed.insert(0, choice(present, request.user, is_present=True))
    return sorted(listed, key=lambda each: not each.is_asked_for)


def _login_hint(interaction: Interaction | None) -> str:
    return address_to_find(interaction.parameters.login_hint) if interaction else ""


def _hinted_account(interaction: Interaction) -> int | None:
    """Return the id of the account that the request's id_token_hint names, None without a valid one."""
    parameters = interaction.parameters
    hint = parameters.get("id_token_hint")
    client = find_client(parameters.get("client_id")) if hint else None
    if hint is None or client is None:
        return None
    try:
        sub = jwt.verify_id_token_hint(hint).get("sub")
    except InvalidToken:
        return None
    found = PairwiseSubject.objects.filter(sub=str(sub), sector=client.project.public_id)
    return found.values_list("account_id", flat=True).first()


def hint_for_sign_in(interaction: Interaction | None, choices: Iterable[Choice]) -> str:
    """Return the email address to fill in on the sign-in page: the request's login_hint, unless it is signed in."""
    return "" if any(each.is_asked_for for each in choices) else _login_hint(interaction)


def choose_present(request: HttpRequest, interaction: Interaction | None) -> None:
    """Continue with the present account."""
    if interaction is not None:
        interactions.mark_chosen(request.session, interaction.key)


def choose_other(
    request: HttpRequest, chosen: OtherAccount, others: Iterable[OtherAccount], interaction: Interaction | None
) -> None:
    """Make another account the present one. Pending requests move with it, and are checked again."""
    pending = interactions.take_pending(request.session)
    browser_accounts.switch(request, chosen, others)
    interactions.add_pending(request.session, pending)
    choose_present(request, interaction)


def begin_sign_in(request: HttpRequest) -> None:
    """Let another person sign in while the others stay signed in. Pending requests move along.

    Raises TooManyAccounts.
    """
    pending = interactions.take_pending(request.session)
    try:
        browser_accounts.put_aside(request)
    finally:
        interactions.add_pending(request.session, pending)
