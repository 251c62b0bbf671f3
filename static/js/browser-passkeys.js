// Tells the browser's password manager which passkeys the account has (WebAuthn Level 3, Signal API), and lets it create
// one after a sign-in with a password (conditional mediation). Browsers without these do nothing, and nothing that fails
// here is shown: the page does not need it.
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

  // A tab repeats a signal only if it has changed.
  function isNew(method, text) {
    try {
      if (sessionStorage.getItem(method) === text) {
        return false;
      }
      sessionStorage.setItem(method, text);
    } catch (error) {
      // This browser allows no storage.
    }
    return true;
  }

  async function signal(method, details) {
    try {
      if (typeof passkeys[method] === "function" && isNew(method, JSON.stringify(details))) {
        await passkeys[method](details);
      }
    } catch (error) {
      // The browser does not accept it.
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
      // The browser created none.
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
