"""The actions of a reviewer in a separate browser."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.steps import sign_in
from tests.services.service import Service

SEE_FIRST = "Preview the email"


class Reviewer:
    """A reviewer's browser, for one app."""

    def __init__(self, page: Page, service: Service, reviewer: str, app: str) -> None:
        self.page = page
        self.app = app
        self.queue = f"{service.address}/admin/review/appreview/"
        page.goto(self.queue)
        sign_in(page, reviewer)

    def open_from_the_queue(self) -> None:
        self.page.goto(self.queue)
        self.page.get_by_role("link", name=self.app, exact=True).click()
        expect(self.page.get_by_role("heading", name="Evidence")).to_be_visible()

    def begin_step(self, title: str) -> Locator:
        """Open the form of a step of the open review, and return it."""
        form = self.page.locator(f"form[aria-labelledby=decide-{title.lower().replace(' ', '-')}]")
        if form.count() == 0:  # a step with its own page
            self.page.get_by_role("link", name=title, exact=True).click()
            expect(self.page.get_by_role("heading", name=title, exact=True)).to_be_visible()
            return self.page.locator("main form")
        if not form.is_visible():
            self.page.locator("summary").filter(has=self.page.get_by_role("heading", name=title, exact=True)).click()
        return form

    def start(self) -> None:
        """Start the open review, which takes one click."""
        self.page.locator(".review-decide").get_by_role("button", name="Start the review").click()
        expect(self.page.get_by_text("The review has started")).to_be_visible()

    def take_step(self, title: str, reasons: tuple[str, ...] = (), note: str = "") -> str:
        """Take a step of the open review with its form, and return the emails of its preview."""
        form = self.begin_step(title)
        for reason in reasons:
            form.get_by_label(reason, exact=True).check()
        if note:
            form.locator("textarea[name=text]").fill(note)
        if title == "Approve":
            self.agree(form)
        form.get_by_role("button", name=SEE_FIRST).click()
        button = self.page.get_by_role("button", name=title, exact=True)
        expect(button).to_be_visible()
        mails = "\n".join(self.page.locator("pre.mail").all_inner_texts())
        button.click()
        expect(self.page).to_have_url(re.compile("/change/$"))
        return mails

    def agree(self, form: Locator) -> None:
        """Approve each scope of the form, tick each part of its checklist, and give the reason if a check fails."""
        for choice in form.locator("input[type=radio][value=approve]").all():
            choice.check()
        for box in form.locator("input[type=checkbox][name^=check_]").all():
            box.check()
        for reason in form.locator("textarea[name=despite]").all():
            reason.fill("Its pages are on a private network.")
