"""`{% url %}` for several hosts: paths that the page's host does not serve are linked on the host that does.

This built-in tag replaces Django's, so that the pages of installed packages have correct links too
(docs/operations.md#hosts).
"""

from typing import Any

from django.template import Library
from django.template.base import Parser, Token
from django.template.context import Context
from django.template.defaulttags import URLNode
from django.template.defaulttags import url as parse_url

from core.http import split_hosts

register = Library()


class HostURLNode(URLNode):
    """Django's node, which also writes the host before the path if needed."""

    def render(self, context: Context) -> Any:
        path = super().render(context)
        request = context.get("request")
        if self.asvar:
            context[self.asvar] = split_hosts.link(context[self.asvar], request) if context[self.asvar] else ""
            return path
        return split_hosts.link(path, request)


@register.tag
def url(parser: Parser, token: Token) -> URLNode:
    """Parse the tag as Django does."""
    node = parse_url(parser, token)
    return HostURLNode(node.view_name, node.args, node.kwargs, node.asvar)


@register.simple_tag(takes_context=True)
def on_its_host(context: Context, path: str) -> str:
    """Return a path as `{% url %}` would, for error pages, which do not use URL names."""
    return split_hosts.link(path, context.get("request"))
