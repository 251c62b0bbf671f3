"""Gathering of the data that the rules check, in a fixed number of SQL statements."""

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from core import clock
from devportal.review.evidence import history, similarity
from devportal.review.evidence.gathered import Gathered
from devportal.review.evidence.similarity import hash_asked
from devportal.review.evidence.usage import gather_usage
from devportal.review.models import AppReview
from devportal.review.rules.snapshots import latest_revision, sent_snapshot
from devportal.review.submission.requirements import domains_to_cover
from oidc.clients.domain_names import domains_of
from oidc.models import Client, ProjectDomain

MAX_ELSEWHERE = 20


def gather(review: AppReview) -> Gathered:
    """Return the data about a submission and the people behind it."""
    client = review.client
    revision = latest_revision(review)
    asked = sent_snapshot(review, revision)
    domains = domains_of(client.project)
    behind = history.people_behind(review)
    cases, reports = history.gather_cases(client)
    logo_hash = hash_asked(client, asked["logo"])
    return Gathered(
        client=client,
        asked=asked,
        now=clock.now(),
        domains=domains,
        elsewhere=_proven_elsewhere(client, domains_to_cover(asked, domains)),
        page_checks=revision.page_checks if revision else None,
        names=similarity.similar_apps(client, asked["name"]),
        logo_hash=logo_hash,
        logos=similarity.similar_logos(client, logo_hash),
        people=history.gather_people(review, behind),
        setbacks=history.setbacks_in([client.project_id]),
        others=history.gather_other_apps(client, behind),
        usage=gather_usage(client),
        cases=cases,
        reports=reports,
        reported_and_deleted=history.reports_of_deleted_clients(client.project),
    )


def _proven_elsewhere(client: Client, names: list[str]) -> list[ProjectDomain]:
    """Return the proofs of these domains in other projects: first the oldest one of each domain.

    Otherwise many proofs of one domain could hide the proofs of another.
    """
    rows = ProjectDomain.objects.filter(name__in=names, proven_at__isnull=False, lost_at=None)
    others = rows.exclude(project=client.project_id).select_related("project")
    of_its_domain = Window(RowNumber(), partition_by=F("name"), order_by=("proven_at", "pk"))
    return list(others.annotate(place=of_its_domain).order_by("place", "name")[:MAX_ELSEWHERE])
