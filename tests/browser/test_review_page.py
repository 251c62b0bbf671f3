"""The page of one review in a browser: looked at, noted on and decided on from its bar; without scripts too."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.camera import HEIGHT, NARROW, WIDE, Camera
from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

OWNER, REVIEWER, COLLEAGUE = (f"{name}@example.com" for name in ("tess.of.plover", "rory.reviewer", "cole.league"))
# An approved app whose owners submitted a change twice. Run in the process of the service.
STAGE = """
from accounts.models import Account
from devportal.review.decisions import notes, reviewer_actions
from devportal.review.models import CannedReply, ReviewRevision
from devportal.review.submission import developer_actions
from oidc.models import Client
from tests.devportal.review.reviewing import SCOPE, approved, decide, fill, resent
owner, reviewer, colleague = (Account.objects.get(email=email) for email in {people!r})
client = approved(Client.objects.get(client_id={client_id!r}), owner, colleague)
fill(client, owner, name="Plover Notes", terms_url="https://example.com/terms-of-2026")
review = developer_actions.submit(client, owner)
ReviewRevision.objects.get_or_create(
    review=review, number=1, defaults={{"snapshot": review.snapshot, "sent_at": review.submitted_at}}
)
decide(review, colleague, "changes_requested")
why = "The overview shows which plan you have, and how many notes it still includes."
privacy = {{"privacy_policy_url": "https://example.com/privacy-plover"}}
developer_actions.save_submission(client, owner, privacy, scopes={{SCOPE: why}})
review = reviewer_actions.start(resent(client, owner, "It is on the second page now."), reviewer)
notes.write_note(review, colleague, "I asked their support: the page is real.")
CannedReply.objects.create(title="Thanks", text="Thank you for {{app}}.")
print("review", review.pk)
"""


@pytest.fixture(scope="module")
def address(live_service: Service) -> str:
    """The page of a review that can be decided on."""
    people = [OWNER, REVIEWER, COLLEAGUE]
    declared = live_service.provision(
        people=[
            {"email": OWNER, "password": PASSWORD, "given_name": "Tess"},
            {"email": REVIEWER, "password": PASSWORD, "roles": ["reviewer"], "given_name": "Rory"},
            {"email": COLLEAGUE, "password": PASSWORD, "roles": ["reviewer"], "given_name": "Cole"},
        ],
        projects=[
            {
                "name": "Plover",
                "owner": OWNER,
                "clients": [{"name": "Plover", "type": "web", "redirect_uris": ["https://app.example.com/callback"]}],
            }
        ],
    )
    client_id = declared["projects"][0]["clients"][0]["client_id"]
    said = live_service.shell(STAGE.format(people=people, client_id=client_id))
    return f"{live_service.address}/admin/review/appreview/{said.split()[-1]}/change/"


def in_the_dark(page: Page, camera: Camera) -> None:
    """Look at the page in the theme's dark colours, which it chooses while it loads."""
    page.emulate_media(color_scheme="dark")
    for width in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.reload()
        expect(page.locator("html.dark")).to_have_count(1)
        camera.check_access(f"the page in the dark at {width} px")
    page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    page.emulate_media(color_scheme="light")
    page.reload()


def test_a_reviewer_checks_and_approves_a_change(address: str, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(address)
        sign_in(page, REVIEWER)
        expect(page.locator(".evidence__fact").first).to_be_visible()
        camera.take("review-page")
        page.locator("summary", has_text="The consent page").click()
        expect(page.get_by_role("heading", name="After review")).to_be_visible()
        in_the_dark(page, camera)
        page.get_by_role("link", name="Against the last revision").click()
        expect(page.locator(".compare ins").first).to_be_visible()
        page.get_by_text("The whole submission").click()
        camera.take("review-page-against-the-last-revision")
        page.get_by_label("Note to other reviewers").fill("Then I approve it.")
        page.get_by_role("button", name="Add the note").click()
        expect(page.get_by_text("Your note is kept")).to_be_visible()
        form = page.locator("form[aria-labelledby=decide-approve]")
        form.locator("[name=check_app]").check()
        form.get_by_label("Begin with a canned reply").select_option("Thanks")
        form.get_by_role("button", name="Insert the reply").click()
        expect(page.get_by_label("Note to the developers")).to_have_value("Thank you for Plover Notes.")
        expect(page.locator("[name=check_app]")).to_be_checked()
        camera.take("review-approval")

    browser.visit(steps)


def test_the_decision_bar_stays_visible_and_covers_no_focused_field(address: str, browser: Chromium) -> None:
    def steps(chromium: Browser) -> None:
        with chromium.new_context(java_script_enabled=False) as plain:
            page = plain.new_page()
            page.goto(address)
            sign_in(page, REVIEWER)
            page.set_viewport_size({"width": NARROW, "height": 640})
            bar = page.get_by_role("link", name="Approve", exact=True)
            expect(bar).to_be_in_viewport()
            page.locator("summary", has_text="The consent page").click()
            expect(page.get_by_role("heading", name="After review")).to_have_count(1)
            field = page.get_by_label("Note to other reviewers")
            field.focus()
            box, edge = field.bounding_box(), page.locator(".review-bar").bounding_box()
            assert box is not None
            assert edge is not None
            assert box["y"] + box["height"] <= edge["y"], "the bar covers the field"

    browser.use(steps)
