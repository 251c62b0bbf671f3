"""Settings of the admin theme, django-unfold: colours and sidebar.

The colours are those of static/css/tokens.css, as ramps. The settings import this module, so it imports no model.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

Lists = Sequence[tuple[str, Sequence[tuple[str, str, str]]]]

NEUTRAL = {
    "50": "#f6f6f3", "100": "#f1f2ee", "200": "#dfe0da", "300": "#c5c8c6", "400": "#a9b0b8", "500": "#666c75",
    "600": "#555b64", "700": "#3c4249", "800": "#2c3137", "900": "#1b1e22", "950": "#131518",
}  # fmt: skip
ACCENT = {
    "50": "#f0f7f9", "100": "#e2eff2", "200": "#c4dfe5", "300": "#a8dbe7", "400": "#86cbdb", "500": "#5fb0c2",
    "600": "#12586a", "700": "#0c4150", "800": "#0a3540", "900": "#1c353c", "950": "#08242c",
}  # fmt: skip


def may_view(model: str) -> Callable[[HttpRequest], bool]:
    """Return a permission callback for the sidebar; `model` is written as in admin URLs (app_model)."""
    app, _, name = model.partition("_")
    permission = f"{app}.view_{name}"
    return lambda request: request.user.has_perm(permission)


def _navigation(lists_by_group: Lists) -> list[dict[str, Any]]:
    return [
        {
            "title": group,
            "items": [
                {
                    "title": title,
                    "icon": icon,
                    "link": reverse_lazy(f"admin:{model}_changelist"),
                    "permission": may_view(model),
                }
                for title, model, icon in lists
            ],
        }
        for group, lists in lists_by_group
    ]


def _sheet(name: str) -> Callable[[HttpRequest], str]:
    return lambda request: static(f"css/{name}.css")


def _script(name: str) -> Callable[[HttpRequest], str]:
    return lambda request: static(f"js/{name}.js")


def unfold_settings(service_name: str, lists: Lists) -> dict[str, Any]:
    """Return the setting UNFOLD.

    `lists` are the entries of the sidebar: group, title, model as in admin URLs, icon.
    """
    return {
        "SITE_TITLE": f"{service_name} admin",
        "SITE_HEADER": service_name,
        "SITE_URL": "/",
        "SITE_ICON": lambda request: static("img/mark.svg"),
        "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("img/mark.svg")}],
        "SHOW_HISTORY": False,
        "SHOW_VIEW_ON_SITE": False,
        "BORDER_RADIUS": "6px",
        "COLORS": {"base": NEUTRAL, "primary": ACCENT},
        "STYLES": [_sheet(name) for name in ("fonts", "admin/tokens", "admin/base", "admin/overview", "admin/review")],
        "SCRIPTS": [_script("admin"), _script("time")],
        "SIDEBAR": {"navigation": _navigation(lists)},
    }
