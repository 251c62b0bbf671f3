// Passkeys in the list that the browser shows under the email field of the sign-in page (WebAuthn §5.1.4, conditional
// mediation). Nothing is asked of the service by a browser without it, and nothing that fails here is told: the
// password form and the button are there as ever.
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

  // A challenge that is about to expire is replaced, at once or when the tab is looked at again.
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
      // Aborted, refused, or no passkey was chosen.
    }
  }

  // Only one request can wait, and each has the newest challenge of the session: the button's own goes before.
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
  // What another tab fetched since then is the newest challenge: this one gets another when it is looked at again.
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
