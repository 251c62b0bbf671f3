"""The table of notices: topic, texts and target page of each kind.

Placeholders are `client`, `project`, `service`, `actor` (the member who did it), `person`, and the values that a notice
has in its `details`. Those whose name ends in `_at` are times.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from devportal.console.notices.kinds import NoticeKind, Topic


@dataclass(frozen=True)
class Definition:
    """The texts of a kind, and the page that it is about.

    `title` is one line, and the subject of an email with one notice. `body` has paragraphs, separated by empty lines.
    `then` follows what a reviewer wrote, and stands only in emails. `page` is the URL name of a page of the client or
    the project, and `action` the text of the link to it.
    """

    topic: Topic
    title: str
    body: str
    page: str
    action: str
    then: str = ""


_REVIEW = ("review", "Open the review")
_PROJECT = ("project", "Open the project")
_DOMAINS = ("domains", "Open the domains")
_SECRETS = ("client_settings", "Open the settings")
_KEYS = ("keys", "Open the API keys")
_PEOPLE = ("people", "Open the people page")
_MEMBERS = ("members", "Open the members")
_PUBLISH = "The Domains page of the project shows what to publish, and can check again immediately."
_NOT_EXPECTED = "If you did not expect this, revoke it, and check who is a member of the project."
_AFTER_LEAK = "Check the logs for requests that are not yours, and remove it from where it was found."

TABLE: Mapping[NoticeKind, Definition] = {
    NoticeKind.SECRET_EXPIRES: Definition(
        Topic.EXPIRY,
        "A secret of {client} expires in {days} days",
        "The secret …{last_four} of {client} (project {project}) expires on {expires_at:minute}. From then on, "
        "requests with it are refused.\n\nIf your app still uses it, rotate it, and give your app the new secret.",
        *_SECRETS,
    ),
    NoticeKind.KEY_EXPIRES: Definition(
        Topic.EXPIRY,
        "The API key {key} expires in {days} days",
        "The API key {key} ({masked}) of the project {project} expires on {expires_at:minute}. From then on, "
        "requests with it are refused.\n\nIf you still use it, rotate it, or change its expiry.",
        *_KEYS,
    ),
    NoticeKind.SECRET_UNUSED: Definition(
        Topic.UNUSED,
        "A secret of {client} has not been used for {days} days",
        "The secret …{last_four} of {client} (project {project}) has not been used for {days} days. If your app no "
        "longer needs it, revoke it. Then nobody can use it if it leaks.",
        *_SECRETS,
    ),
    NoticeKind.KEY_UNUSED: Definition(
        Topic.UNUSED,
        "The API key {key} has not been used for {days} days",
        "The API key {key} ({masked}) of the project {project} has not been used for {days} days. If you no longer "
        "need it, revoke it. Then nobody can use it if it leaks.",
        *_KEYS,
    ),
    NoticeKind.SIGN_IN_ERRORS: Definition(
        Topic.ERRORS,
        "More sign-in errors than usual in {client}",
        "Since {since_at:minute}, {errors} of {total} sign-in requests of {client} (project {project}) have failed: "
        "{rate}%. In the week before, it was {usual_rate}%.\n\nThe sign-in log shows the reason for each of them.",
        "sign_ins",
        "Open the sign-in log",
    ),
    NoticeKind.CALL_ERRORS: Definition(
        Topic.ERRORS,
        "More API errors than usual with {caller}",
        "Since {since_at:minute}, {errors} of {total} API requests with {caller} (project {project}) have failed: "
        "{rate}%. In the week before, it was {usual_rate}%.\n\nThe request log shows each of them.",
        "requests",
        "Open the request log",
    ),
    NoticeKind.PEOPLE_NEAR_LIMIT: Definition(
        Topic.PEOPLE,
        "{project} has {people} of {limit} people",
        "{people} people have authorized the apps of {project} that are not reviewed. When {limit} have, nobody "
        "else can sign in to them.\n\nTo remove the limit, submit the apps for review.",
        *_PEOPLE,
    ),
    NoticeKind.PEOPLE_AT_LIMIT: Definition(
        Topic.PEOPLE,
        "{project} has reached the limit of {limit} people",
        "{people} people have authorized the apps of {project} that are not reviewed. People who already use the "
        "apps keep access, but nobody else can sign in to them.\n\nTo remove the limit, submit the apps for review.",
        *_PEOPLE,
    ),
    NoticeKind.OWNER_ADDED: Definition(
        Topic.OWNERS,
        "{project} has a new owner",
        "{person} is now an owner of {project}. Owners manage the members, and can transfer or delete the "
        "project.\n\nIf you did not expect this, check the members.",
        *_MEMBERS,
    ),
    NoticeKind.PROJECT_TRANSFERRED: Definition(
        Topic.OWNERS,
        "{project} was transferred",
        "{actor} transferred {project} to {person}, who is now an owner. {actor} is now a developer.\n\nIf you did "
        "not expect this, check the members.",
        *_MEMBERS,
    ),
    NoticeKind.SECRET_CREATED: Definition(
        Topic.CREDENTIALS,
        "{client} has a new secret",
        f"{{actor}} created the secret …{{last_four}} of {{client}} (project {{project}}).\n\n{_NOT_EXPECTED}",
        *_SECRETS,
    ),
    NoticeKind.KEY_CREATED: Definition(
        Topic.CREDENTIALS,
        "{project} has a new API key",
        f"{{actor}} created the API key {{key}} in the project {{project}}.\n\n{_NOT_EXPECTED}",
        *_KEYS,
    ),
    NoticeKind.DOMAIN_MISSING: Definition(
        Topic.DOMAINS,
        "The proof of {domain} is missing",
        "We no longer find the proof that {domain} belongs to the project {project}. Nothing changes for people "
        "yet.\n\nIf we do not find the proof by {lost_at:day}, the domain is no longer proven. Reviewed apps that "
        "depend on it then appear there without logo and badge, and the reviewers of {service} are notified.",
        *_DOMAINS,
        then=_PUBLISH,
    ),
    NoticeKind.DOMAIN_LOST: Definition(
        Topic.DOMAINS,
        "{domain} is no longer proven",
        "The proof that {domain} belongs to the project {project} was still missing at the deadline. The domain is no "
        "longer proven.\n\nPeople can sign in as before. But when they return to a URL on this domain, your apps "
        "appear without logo and badge, like apps that were never reviewed. The reviewers of {service} check the apps "
        "that depend on this domain.",
        *_DOMAINS,
        then=f"The badge comes back as soon as the proof is found again. {_PUBLISH}",
    ),
    NoticeKind.DOMAIN_FOUND: Definition(
        Topic.DOMAINS,
        "{domain} is proven again",
        "We found the proof that {domain} belongs to the project {project} again. Nothing changed for people in the "
        "meantime.",
        *_DOMAINS,
    ),
    NoticeKind.DOMAIN_REGAINED: Definition(
        Topic.DOMAINS,
        "{domain} is proven again",
        "We found the proof that {domain} belongs to the project {project} again. Reviewed apps show their logo and "
        "badge on this domain again.",
        *_DOMAINS,
    ),
    NoticeKind.DOMAIN_NARROWED: Definition(
        Topic.DOMAINS,
        "{domain} is proven without its subdomains",
        "The DNS record that proves that {domain} belongs to the project {project} is missing. We still find the file "
        "on its web server, but a file proves {domain} only. The subdomains are no longer proven, and reviewed apps "
        "appear there without logo and badge.\n\nPublish the DNS record to prove the subdomains again.",
        *_DOMAINS,
    ),
    NoticeKind.SECRET_LEAKED: Definition(
        Topic.LEAKS,
        "A secret of {client} has leaked",
        "The secret …{label} of {client} (project {project}) was found in public. It still works, so anyone who has "
        f"it can use it.\n\nRotate it now. {_AFTER_LEAK}",
        *_SECRETS,
    ),
    NoticeKind.SECRET_LEAKED_AND_REVOKED: Definition(
        Topic.LEAKS,
        "A secret of {client} has leaked and was revoked",
        "The secret …{label} of {client} (project {project}) was found in public, so we revoked it. Requests with it "
        f"are refused.\n\nIf your app used it, create a new secret. {_AFTER_LEAK}",
        *_SECRETS,
    ),
    NoticeKind.KEY_LEAKED: Definition(
        Topic.LEAKS,
        "The API key {label} has leaked",
        "The API key {label} of the project {project} was found in public. It still works, so anyone who has it can "
        f"use it.\n\nRotate it now. {_AFTER_LEAK}",
        *_KEYS,
    ),
    NoticeKind.KEY_LEAKED_AND_REVOKED: Definition(
        Topic.LEAKS,
        "The API key {label} has leaked and was revoked",
        "The API key {label} of the project {project} was found in public, so we revoked it. Requests with it are "
        f"refused.\n\nIf a program of yours used it, create a new key. {_AFTER_LEAK}",
        *_KEYS,
    ),
    NoticeKind.DELIVERIES_PAUSED: Definition(
        Topic.DELIVERIES,
        "Deliveries to {client} are paused",
        "{host} has not accepted deliveries for {client} (project {project}) for some time, so we paused them. People "
        "can sign in as before, but the app does not learn when they sign out, remove it or close their account.\n\n"
        "Fix the receiver, and resume the deliveries.",
        "client_events",
        "Open the events",
    ),
    NoticeKind.CLIENT_TURNED_OFF: Definition(
        Topic.AVAILABILITY,
        "{client} was turned off",
        "The team of {service} turned off {client} (project {project}). Within about 30 seconds, nobody can sign in "
        "to it any more, and its tokens no longer work. Nothing is deleted.",
        "client_settings",
        "Open the app",
    ),
    NoticeKind.REVIEW_SUSPENDED: Definition(
        Topic.AVAILABILITY,
        "{project} is suspended",
        "The project {project} is suspended at {service}. Within about 30 seconds, nobody can sign in to its apps any "
        "more, and requests with its API keys and tokens get the error project_suspended. Nothing is deleted.",
        *_PROJECT,
        then="The page of the project says how to appeal.",
    ),
    NoticeKind.REVIEW_SUSPENSION_LIFTED: Definition(
        Topic.AVAILABILITY,
        "{project} is available again",
        "The suspension of the project {project} at {service} has ended. People can sign in to its apps again, and "
        "its API keys work.",
        *_PROJECT,
    ),
    NoticeKind.REVIEW_SUBMITTED: Definition(
        Topic.PROGRESS,
        "{client} was submitted for review",
        "{client} (project {project}) was submitted to the reviewers of {service}.\n\nThey review the oldest "
        "submission first. Until they answer, nothing changes for people who use the app, and you can't edit what you "
        "submitted. You can withdraw it at any time.",
        *_REVIEW,
    ),
    NoticeKind.REVIEW_RESUBMITTED: Definition(
        Topic.PROGRESS,
        "{client} was submitted for review again",
        "Your changes to {client} (project {project}) were sent to the reviewers of {service}.\n\nNothing changes for "
        "people who use the app until they answer.",
        *_REVIEW,
    ),
    NoticeKind.REVIEW_WITHDRAWN: Definition(
        Topic.PROGRESS,
        "{client} was withdrawn from review",
        "Your team has withdrawn {client} (project {project}) from review. Nothing that you wrote is lost, and "
        "earlier approvals stay valid. You can change it and submit it again.",
        *_REVIEW,
    ),
    NoticeKind.REVIEW_STARTED: Definition(
        Topic.PROGRESS,
        "The review of {client} has started",
        "A reviewer has started to review {client} (project {project}). Please keep it turned on, so that they can "
        "sign in to it.",
        *_REVIEW,
    ),
    NoticeKind.REVIEW_APPEALED: Definition(
        Topic.PROGRESS,
        "The appeal about {client} was sent to the reviewers",
        "Someone on your team has appealed against a decision about {client} (project {project}). A reviewer of "
        "{service} who did not make that decision will answer the appeal. Nothing changes until then.",
        *_REVIEW,
    ),
    NoticeKind.REVIEW_RENEWED: Definition(
        Topic.PROGRESS,
        "{client} was reviewed again",
        "A reviewer of {service} has checked {client} (project {project}) again and found no problems. The approval "
        "stays valid, and you don’t have to do anything.",
        *_REVIEW,
    ),
    NoticeKind.RE_REVIEW_DUE: Definition(
        Topic.PROGRESS,
        "{client} will be reviewed again",
        "{client} (project {project}) was reviewed some time ago. A reviewer of {service} will check it again: that "
        "its pages are reachable and about the app, that its domains are proven, that it is still the app that was "
        "reviewed and needs its scopes, and that someone answers at its support email address.\n\nNothing changes in "
        "the meantime, and you don’t have to do anything. If something about the app has changed, submit a new "
        "version for review. It replaces this review.",
        *_REVIEW,
    ),
    NoticeKind.REVIEW_COMMENT: Definition(
        Topic.DECISIONS,
        "A reviewer sent a message about {client}",
        "A reviewer wrote about {client} (project {project}).",
        "review",
        "Answer",
    ),
    NoticeKind.REVIEW_CHANGES_REQUESTED: Definition(
        Topic.DECISIONS,
        "Changes are needed before {client} can be approved",
        "We have reviewed {client} (project {project}) and can't approve it yet.",
        *_REVIEW,
        then="Make the changes, or answer if you disagree, and submit it again. Earlier approvals stay valid in the "
        "meantime.",
    ),
    NoticeKind.REVIEW_REJECTED: Definition(
        Topic.DECISIONS,
        "{client} was not approved",
        "We have reviewed {client} (project {project}) and did not approve it.",
        *_REVIEW,
        then="Earlier approvals stay valid. When you have fixed the problems, you can submit it again.",
    ),
    NoticeKind.REVIEW_APPROVED: Definition(
        Topic.DECISIONS,
        "{client} is reviewed",
        "We have reviewed {client} (project {project}) and approved it. From now on people see its name, its logo and "
        "its domain as reviewed, and any number of them can use it.",
        *_REVIEW,
        then="Changes to its name, logo or URLs are reviewed before people see them.",
    ),
    NoticeKind.REVIEW_APPROVAL_WITHDRAWN: Definition(
        Topic.DECISIONS,
        "The approval of {client} was withdrawn",
        "The approval of {client} (project {project}) was withdrawn. People see it without a logo, as an app that has "
        "not been reviewed, and only a limited number of new people can use it. Scopes that need approval no longer "
        "work. People who already use it can continue.",
        *_REVIEW,
        then="When you have fixed the problems, you can submit it for review again.",
    ),
    NoticeKind.REVIEW_SCOPES_WITHDRAWN: Definition(
        Topic.DECISIONS,
        "{client} can no longer request some scopes",
        "{client} (project {project}) is still reviewed, but some scopes are no longer approved for it. Existing "
        "tokens no longer give access to them, and authorization requests that ask for them get the error "
        "invalid_scope.",
        *_REVIEW,
        then="When you have fixed the problems, you can submit it for review again.",
    ),
    NoticeKind.APPEAL_ANSWERED: Definition(
        Topic.DECISIONS,
        "Your appeal about {client} was answered",
        "A reviewer of {service} who had not made the decision has answered your appeal about the withdrawn approval "
        "of {client} (project {project}).",
        *_REVIEW,
    ),
    NoticeKind.SUSPENSION_APPEAL_ANSWERED: Definition(
        Topic.DECISIONS,
        "Your appeal about {project} was answered",
        "A reviewer of {service} who had not made the decision has answered your appeal about the suspension of "
        "{project}.",
        *_PROJECT,
    ),
    NoticeKind.SCOPE_REVIEW_DUE: Definition(
        Topic.DECISIONS,
        "A scope of {client} now needs a review",
        "{client} (project {project}) has a scope that from now on needs a review by {service}.\n\nPeople who have "
        "granted it keep it until a reviewer decides. Unless a review approved it before, the app can't ask anyone "
        "else for it until then. Submit the app for review, and explain what you need the scope for. If you no "
        "longer need it, submit the app without it. Reviewers can withdraw the scope if the app is not submitted.",
        *_REVIEW,
    ),
}
