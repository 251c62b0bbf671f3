"""The versions that Maven chose for a guide's project."""

import re

from tests.guides.reading import OpenGuide


def managed(app: OpenGuide, *artifacts: str) -> dict[str, str]:
    """Return the versions of these artifacts (`group:artifact`) in the guide's project, by the artifact's name."""
    listed = app.finish("mvn -B -ntp dependency:list -DexcludeTransitive=false -Dstyle.color=never")
    versions = {}
    for artifact in artifacts:
        found = re.search(rf"{re.escape(artifact)}:jar:([^:]+):", listed)
        assert found, listed
        versions[artifact.partition(":")[2]] = found[1]
    return versions
