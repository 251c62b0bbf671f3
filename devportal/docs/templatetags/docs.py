"""Template tags of the docs: highlighted code, code of guides, a page's contents, and navigation."""

import re
from typing import Any

from django import template
from django.http import HttpRequest
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from devportal.docs import pages, search
from devportal.docs.guides.readers import LITERALS, Reader
from devportal.docs.guides.registry import Guide, GuideRun
from devportal.docs.pages import DocsPage
from devportal.docs.rendering import highlight, with_anchors
from devportal.docs.specifications import url_of

register = template.Library()
# Pages with fewer headings need no list of them.
FEWEST_HEADINGS = 2
_CONTENTS = "<!-- contents -->"


@register.filter
def without_values(text: str) -> str:
    """Show a text of a reason with an ellipsis for each value."""
    return re.sub(r"\{[^}]+\}", "…", text)


@register.simple_tag
def highlighted(code: str, language: str = "", fleeting: bool = False) -> SafeString:
    """Return code as HTML, highlighted by its language. With `fleeting`, the result is not cached."""
    return highlight(str(code), language or "text", keep=not fleeting)


class ArticleNode(template.Node):
    """`{% article page %}…{% endarticle %}`: the main column, with anchors at its headings and a list of them."""

    def __init__(self, page: FilterExpression, content: NodeList) -> None:
        self.page = page
        self.nodelist = content

    def render(self, context: Context) -> SafeString:
        page = self.page.resolve(context, ignore_failures=True)
        html, headings = with_anchors(self.nodelist.render(context))
        listed = headings if len(headings) >= FEWEST_HEADINGS else []
        before, after = pages.neighbours(page) if isinstance(page, DocsPage) else (None, None)
        # On narrow screens, the list comes between the two.
        place = html.find(_CONTENTS if _CONTENTS in html else "<h2")
        intro, rest = (html, "") if place < 0 else (html[:place], html[place:])
        values = {
            "page": page,
            "intro": mark_safe(intro),  # noqa: S308 (parts of the rendered template)
            "article": mark_safe(rest),  # noqa: S308 (the same)
            "headings": listed,
            "before": before,
            "after": after,
        }
        return render_to_string("docs/article.html", values)


@register.simple_tag
def contents_here() -> SafeString:
    """Mark where the list of headings appears on narrow screens, if that is not before the first heading."""
    return mark_safe(_CONTENTS)  # noqa: S308 (a constant)


@register.tag
def article(parser: Parser, token: Token) -> ArticleNode:
    """Parse `{% article page %}`. If `page` is not a page of the docs, there are no links to other pages."""
    _, page = token.split_contents()
    content = parser.parse(("endarticle",))
    parser.delete_first_token()
    return ArticleNode(parser.compile_filter(page), content)


@register.simple_tag
def docs_navigation(page: object, address: str) -> dict[str, list[pages.NavLink]]:
    """Return the navigation for a page of the docs. `page` may be anything else on other pages."""
    return pages.navigation(page if isinstance(page, DocsPage) else None, address)


@register.inclusion_tag("partials/snippet.html", takes_context=True)
def guide_code(
    context: Context, name: str, language: str, label: str, file: str = "", kind: str = "Terminal"
) -> dict[str, Any]:
    """Show templates/snippets/guides/<guide>/<name>.txt, with every value as a literal of `language`.

    A piece that several guides share is templates/snippets/guides/<name>.txt.
    With `file` a reader saves it under that name, otherwise it is what they paste into a terminal; any other use says
    so in `kind`. Raises KeyError for a language without literals.
    """
    reader: Reader = context["reader"]
    values: dict[str, Any] = {key: LITERALS[language](value) for key, value in reader.values.items()}
    # `text` has the plain values, for use inside a longer literal, such as a path in a URL.
    values |= {"text": reader.values, "port": reader.port, "insecure": reader.is_insecure}
    values["delivery_days"] = reader.delivery_days
    templates = [f"snippets/guides/{reader.guide.name}/{name}.txt", f"snippets/guides/{name}.txt"]
    code = render_to_string(templates, values).strip("\n")
    anchor = f"code-{(file or name).replace('/', '-').replace('.', '-').lower()}"
    return {"id": anchor, "label": label, "file": file, "kind": kind, "code": code, "language": language}


@register.simple_block_tag
def code_lines(content: str, anchor: str, language: str, label: str, kind: str = "Terminal") -> SafeString:
    """Show the lines of the block as code. They contain no values except `reader.port`, which needs no quotes."""
    code = content.lstrip("\n").rstrip()
    values = {"id": anchor, "label": label, "kind": kind, "code": code, "language": language}
    return render_to_string("partials/snippet.html", values)


@register.simple_tag
def specification(name: str, section: str = "") -> SafeString:
    """Show the name of a specification, with the number of a section, as a link to it."""
    text = f"{name}, section {section}" if section else name
    return format_html('<a href="{}" rel="noopener">{}</a>', url_of(name, section), text)


@register.simple_tag
def run_of(runs: dict[str, GuideRun], guide: Guide) -> GuideRun | None:
    """Return the last test run of a guide, None if there is none."""
    return runs.get(guide.name)


@register.simple_tag
def suggested_sections(request: HttpRequest) -> list[search.Section]:
    """Return sections of the docs for a URL below /docs/ that does not exist."""
    return search.suggestions(request)
