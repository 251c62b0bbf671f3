"""Tags of the docs: code in colour, a page's contents, and the way through the pages."""

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from devportal.docs import pages
from devportal.docs.pages import DocsPage
from devportal.docs.rendering import highlight, with_anchors

register = template.Library()
# With fewer headings a list of them is longer than a look at the page.
FEWEST_HEADINGS = 2
_CONTENTS = "<!-- contents -->"


@register.simple_tag
def highlighted(code: str, language: str = "", fleeting: bool = False) -> SafeString:
    """Return code as HTML, coloured by its language; what is `fleeting` is not kept in the process."""
    return highlight(str(code), language or "text", keep=not fleeting)


class ArticleNode(template.Node):
    """`{% article page %}…{% endarticle %}`: the main column, with anchors at its headings and their list beside it."""

    def __init__(self, page: FilterExpression, content: NodeList) -> None:
        self.page = page
        self.nodelist = content

    def render(self, context: Context) -> SafeString:
        page = self.page.resolve(context, ignore_failures=True)
        html, headings = with_anchors(self.nodelist.render(context))
        listed = headings if len(headings) >= FEWEST_HEADINGS else []
        before, after = pages.neighbours(page) if isinstance(page, DocsPage) else (None, None)
        # On narrow screens the list stands between them.
        place = html.find(_CONTENTS if _CONTENTS in html else "<h2")
        intro, rest = (html, "") if place < 0 else (html[:place], html[place:])
        values = {
            "page": page,
            "intro": mark_safe(intro),  # noqa: S308 (parts of what the template rendered)
            "article": mark_safe(rest),  # noqa: S308 (the same)
            "headings": listed,
            "before": before,
            "after": after,
        }
        return render_to_string("docs/article.html", values)


@register.simple_tag
def contents_here() -> SafeString:
    """Mark where the list of headings folds out on narrow screens, where that isn't before the first of them."""
    return mark_safe(_CONTENTS)  # noqa: S308 (a constant)


@register.tag
def article(parser: Parser, token: Token) -> ArticleNode:
    """Parse `{% article page %}`; `page` may be None or of another kind: then nothing leads on from it."""
    _, page = token.split_contents()
    content = parser.parse(("endarticle",))
    parser.delete_first_token()
    return ArticleNode(parser.compile_filter(page), content)


@register.simple_tag
def docs_navigation(page: object, address: str) -> dict[str, list[pages.NavLink]]:
    """Return the navigation beside a page of the docs; `page` may be anything else on pages in their frame."""
    return pages.navigation(page if isinstance(page, DocsPage) else None, address)
