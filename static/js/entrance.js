// Improves the sign-in forms: adds a button that shows the password, and shows the parts that need passkeys. The email
// address typed on the sign-in page is filled in on the pages for a forgotten password and a new account. It is kept in
// this tab only (sessionStorage).
(function () {
  "use strict";

  const KEY = "typed-email";

  function addToggle(field) {
    const button = document.createElement("button");
    const original = field.type;
    button.type = "button";
    button.className = "button button--link button--small";
    button.setAttribute("aria-controls", field.id);

    function show(isShown) {
      field.type = isShown ? "text" : original;
      button.textContent = isShown ? "Hide password" : "Show password";
    }

    button.addEventListener("click", function () {
      show(field.type === original);
    });
    // Submitted as a text field, the password could be saved in the browser's autofill history.
    field.form.addEventListener("submit", function () {
      show(false);
    });
    show(false);
    field.insertAdjacentElement("afterend", button);
  }

  document.querySelectorAll('main input[type="password"]').forEach(addToggle);
  if (window.PublicKeyCredential) {
    document.querySelectorAll("[data-needs-passkeys]").forEach(function (part) {
      part.hidden = false;
    });
  }

  try {
    const typed = document.querySelector('input[name="login"]');
    document.querySelectorAll("a[data-carries-email]").forEach(function (link) {
      link.addEventListener("click", function () {
        if (typed && typed.value) {
          sessionStorage.setItem(KEY, typed.value);
        }
      });
    });
    const field = document.querySelector("input[data-takes-email]");
    const carried = sessionStorage.getItem(KEY);
    if (field && carried) {
      sessionStorage.removeItem(KEY);
      if (!field.getAttribute("aria-invalid")) {
        field.value = carried;
      }
    }
  } catch (error) {
    // The browser does not allow storage. People type the email address again.
  }
})();
