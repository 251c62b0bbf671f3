"""The summary of what prevents a submission, with links to where each item is fixed."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.urls import reverse

from devportal.review.forms import BrandingForm
from devportal.review.requirements import Requirement
from oidc.models import Client

# Pages of the whole project. The other pages belong to the client.
PROJECT_PAGES = frozenset({"console:domains"})
THIS_PAGE = "console:review"


@dataclass(frozen=True)
class Line:
    """One thing to fix: the text, and the link to its place. Without a link it concerns the whole form."""

    text: str
    href: str = ""


def address_of(item: Requirement, client: Client) -> str:
    """Return the URL at which an item is fixed: a field of this page, or another page of the console."""
    if item.field:
        return f"#id_{item.field}"
    if item.url_name == THIS_PAGE:
        return "#branding"
    project = client.project.public_id
    return reverse(item.url_name, args=[project] if item.url_name in PROJECT_PAGES else [project, client.client_id])


def error_summary(form: BrandingForm, lacking: Iterable[Requirement], client: Client) -> list[Line]:
    """Return the errors of the page in the order of its fields, then the items missing on other pages."""
    lines = [Line(str(error)) for error in form.non_field_errors()]
    for field in form:
        lines += [Line(f"{field.label}: {error}", f"#{field.id_for_label}") for error in field.errors]
    elsewhere = (item for item in lacking if not item.field)
    return [*lines, *(Line(f"{item.title}: {item.help}", address_of(item, client)) for item in elsewhere)]
