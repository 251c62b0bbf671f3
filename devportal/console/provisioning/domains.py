"""`domains` of `[[projects]]`: domains that the operator declares as proven (docs/domains.md#proofs)."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers

from devportal.lib.strict_fields import StrictCharField
from oidc.domains.claims import declare_domain
from oidc.domains.effects import refresh_reviewed_hosts
from oidc.domains.names import clean_domain_name
from oidc.models import Project
from oidc.projects.locking import lock_project


class DomainField(StrictCharField):
    """A domain, read as the spelling that is kept."""

    def to_internal_value(self, data: Any) -> str:
        typed = super().to_internal_value(data)
        try:
            return clean_domain_name(typed, by_operator=True)
        except ValidationError as error:
            raise serializers.ValidationError(error.messages) from error


def apply_domains(project: Project, names: Sequence[str]) -> None:
    """Declare these domains as the project's; others that it has stay. In the transaction of the whole file."""
    lock_project(project.pk, deleted=project.is_deleted)
    for name in names:
        declare_domain(project, name)
    refresh_reviewed_hosts(project)
