"""The page of the console's jump box; its script asks for the same page's results while somebody types."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from accounts.authentication import account_of
from devportal.console.search import jump
from devportal.console.search.sections import docs_index
from devportal.console.search.words import clean
from devportal.console.shortcuts import console_page, render_page

MOST_DOCS = 6


@console_page()
def jump_page(request: HttpRequest) -> HttpResponse:
    """GET /console/jump?q=…: pages of one's own projects, and of the docs. An id that is found leads straight there.

    With `list` the results alone come, as the options of a listbox.
    """
    query = clean(request.GET.get("q", ""))
    account = account_of(request)
    found = jump.entries(account, query)
    as_list = "list" in request.GET
    if len(found) == 1 and not as_list:
        return HttpResponseRedirect(found[0].address)
    docs = docs_index().search(query, MOST_DOCS) if query else []
    groups = {
        "By its id": found,
        "Console": [] if found else jump.targets(account, query),
        "Docs": [jump.Target(one.title, one.page, one.address) for one in docs if not found],
    }
    shown = {title: targets for title, targets in groups.items() if targets}
    if as_list:
        return render(request, "console/partials/jump_options.html", {"groups": shown})
    return render_page(request, "console/jump.html", query=query, groups=shown)
