"""`{% guide_code %}`: a code block of a guide, filled in with the reader's ids."""

from typing import Any

from django import template
from django.template.context import Context
from django.template.loader import render_to_string

from devportal.docs.guides.readers import LITERALS, Reader
from devportal.docs.guides.registry import Guide, GuideRun

register = template.Library()


@register.inclusion_tag("partials/snippet.html", takes_context=True)
def guide_code(
    context: Context, name: str, language: str, label: str, file: str = "", kind: str = "Terminal"
) -> dict[str, Any]:
    """Show templates/snippets/guides/<guide>/<name>.txt, with every value as a literal of `language`.

    With `file` a reader saves it under that name, otherwise it is what they paste into a terminal; any other use says
    so in `kind`. Raises KeyError for a language without literals.
    """
    reader: Reader = context["reader"]
    values: dict[str, Any] = {key: LITERALS[language](value) for key, value in reader.values.items()}
    # `text` has the plain values, for use inside a longer literal, such as a path in a URL.
    values |= {"text": reader.values, "port": reader.port, "insecure": reader.is_insecure}
    code = render_to_string(f"snippets/guides/{reader.guide.name}/{name}.txt", values).strip("\n")
    anchor = f"code-{(file or name).replace('/', '-').replace('.', '-').lower()}"
    return {"id": anchor, "label": label, "file": file, "kind": kind, "code": code, "language": language}


@register.simple_tag
def run_of(runs: dict[str, GuideRun], guide: Guide) -> GuideRun | None:
    """Return the last test run of a guide, None if there is none."""
    return runs.get(guide.name)
