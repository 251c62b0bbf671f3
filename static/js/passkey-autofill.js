// Offers passkeys in the list that the browser shows under the email field of the sign-in page (WebAuthn §5.1.4,
// conditional mediation). Browsers without this feature send no requests. Failures are not shown, because the password
// form and the passkey button still work.
(function () {
  "use strict";

  const field = document.querySelector('input[name="login"][autocomplete~="webauthn"]');
  const form = document.getElementById("mfa_login");
  const credentials = window.webauthnJSON;
  if (!field || !form || !credentials || !window.PublicKeyCredential || !window.AbortController) {
    return;
  }
  if (typeof PublicKeyCredential.isConditionalMediationAvailable !== "function") {
    return;
  }
  const tabs = window.BroadcastChannel ? new BroadcastChannel("passkey-challenges") : null;
  const FRESH_MS = 4 * 60 * 1000; // the service accepts a response for five minutes
  let waiting = null;
  let isStale = false;
  let timer = 0;

  function stop() {
    clearTimeout(timer);
    if (waiting) {
      waiting.abort();
      waiting = null;
    }
  }

  function tellOtherTabs() {
    if (tabs) {
      tabs.postMessage("newer challenge");
    }
  }

  // Replaces a challenge that is about to expire: at once, or when the tab becomes visible again.
  function renew() {
    isStale = true;
    if (document.visibilityState === "visible") {
      offer();
    }
  }

  async function offer() {
    stop();
    isStale = false;
    const abort = (waiting = new AbortController());
    try {
      if (!(await PublicKeyCredential.isConditionalMediationAvailable()) || abort.signal.aborted) {
        return;
      }
      const answer = await fetch(form.action, { headers: { Accept: "application/json" }, signal: abort.signal });
      if (!answer.ok) {
        return;
      }
      tellOtherTabs();
      timer = setTimeout(renew, FRESH_MS);
      const options = (await answer.json()).request_options;
      const request = Object.assign({}, options, { mediation: "conditional", signal: abort.signal });
      const passkey = await credentials.get(request);
      form.elements.credential.value = JSON.stringify(passkey);
      form.submit();
    } catch (error) {
      // The request was aborted or rejected, or no passkey was chosen.
    }
  }

  // A browser can only wait for one request, and a session only accepts its newest challenge. The button's request has
  // priority, so this one is stopped.
  const button = document.querySelector('button[form="mfa_login"]');
  if (button) {
    button.addEventListener(
      "click",
      function () {
        stop();
        tellOtherTabs();
      },
      true
    );
  }
  field.form.addEventListener("submit", stop);
  // When another tab has fetched a challenge, the one of this tab is no longer valid. This tab fetches a new one when
  // it becomes visible again.
  if (tabs) {
    tabs.addEventListener("message", function () {
      isStale = true;
    });
  }
  document.addEventListener("visibilitychange", function () {
    if (document.visibilityState === "visible" && (isStale || !waiting)) {
      offer();
    }
  });
  if (document.visibilityState === "visible") {
    offer();
  }
})();
