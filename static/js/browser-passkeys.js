// Tells the browser's password manager which passkeys the account has (WebAuthn Level 3, Signal API), and lets it create
// one after a sign-in with a password (conditional mediation). Browsers without these features do nothing. Failures are
// not shown, because the page works without this script.
(function () {
  "use strict";

  const passkeys = window.PublicKeyCredential;
  const data = document.getElementById("passkey_signals");
  const form = document.getElementById("conditional_passkey");
  const METHODS = {
    unknown: "signalUnknownCredential",
    accepted: "signalAllAcceptedCredentials",
    details: "signalCurrentUserDetails",
  };

  // Each tab sends a signal again only if it has changed.
  function isNew(method, text) {
    try {
      if (sessionStorage.getItem(method) === text) {
        return false;
      }
      sessionStorage.setItem(method, text);
    } catch (error) {
      // The browser does not allow storage. The signal is sent on every page.
    }
    return true;
  }

  async function signal(method, details) {
    try {
      if (typeof passkeys[method] === "function" && isNew(method, JSON.stringify(details))) {
        await passkeys[method](details);
      }
    } catch (error) {
      // The browser rejected the signal.
    }
  }

  async function create() {
    try {
      if (typeof passkeys.getClientCapabilities !== "function" || !passkeys.parseCreationOptionsFromJSON) {
        return;
      }
      if (!(await passkeys.getClientCapabilities()).conditionalCreate) {
        return;
      }
      const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
      if (answer.status !== 200 || answer.redirected) {
        return;
      }
      const publicKey = passkeys.parseCreationOptionsFromJSON((await answer.json()).publicKey);
      const passkey = await navigator.credentials.create({ publicKey: publicKey, mediation: "conditional" });
      const body = new FormData(form);
      body.set("credential", JSON.stringify(passkey));
      await fetch(form.action, { method: "POST", body: body });
    } catch (error) {
      // No passkey was created.
    }
  }

  if (!passkeys) {
    return;
  }
  if (data) {
    const signals = JSON.parse(data.textContent);
    Object.keys(signals).forEach(function (name) {
      signal(METHODS[name], signals[name]);
    });
  }
  if (form) {
    window.addEventListener("load", create);
  }
})();
