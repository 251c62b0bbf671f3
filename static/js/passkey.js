// Asks for a passkey as soon as the page has loaded, if the page requests that. Shows when a passkey request failed or
// was cancelled, or when the device is already registered (WebAuthn §5.1.3: InvalidStateError). The library only logs
// errors to the browser's console.
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

  // The page that continues a sign-up asks without a click. Its button is for further attempts.
  const atOnce = document.querySelector("[data-passkey-at-once]");
  if (atOnce) {
    window.addEventListener("load", function () {
      atOnce.click();
    });
  }
})();
