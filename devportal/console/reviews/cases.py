"""Cases of the desk: what a reviewer has to look into besides submissions (docs/review.md#cases)."""

from accounts.models import Account
from devportal.console.models import ReviewCase
from devportal.lib import clock
from oidc.models import Client, Project


def open_case(
    kind: str, project: Project, client: Client | None = None, *, text: str = "", actor: Account | None = None
) -> ReviewCase:
    """Return the open case of a kind about an app, or about a project; make one if there is none.

    Of two at once the second gets what the first made: the database has one open case of a kind.
    """
    case, _ = ReviewCase.objects.get_or_create(
        project=project,
        client=client,
        kind=kind,
        closed_at=None,
        defaults={"text": text, "opened_at": clock.now(), "opened_by": actor},
    )
    return case
