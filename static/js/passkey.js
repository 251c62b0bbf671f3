// Asks for a passkey at once where the page says so. Says on the page that a passkey step failed or was cancelled, or that
// the device is registered already (WebAuthn §5.1.3: InvalidStateError); the library only writes to the console.
(function () {
  "use strict";

  document.addEventListener("allauth.error", function (event) {
    const failed = document.querySelector("[data-passkey-failed]");
    const known = document.querySelector("[data-passkey-known]");
    const exception = event.detail && event.detail.exception;
    const isKnown = Boolean(known && exception && exception.name === "InvalidStateError");
    if (failed) {
      event.preventDefault();
      failed.hidden = isKnown;
    }
    if (known) {
      known.hidden = !isKnown;
    }
  });

  // The page on which a sign-up continues asks at once. Its button is there for another attempt.
  const atOnce = document.querySelector("[data-passkey-at-once]");
  if (atOnce) {
    window.addEventListener("load", function () {
      atOnce.click();
    });
  }
})();
