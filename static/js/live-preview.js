// Shows in the preview what is typed, while it is typed: the form itself is asked for, as its Preview button does,
// and the parts that show the preview and the checklist are taken from the answer. Nothing is saved by it.
(function () {
  "use strict";

  const PAUSE = 500; // milliseconds without a key before the server is asked
  const PARTS = ["preview", "checklist-folded", "checklist-beside"];
  const form = document.querySelector("form[data-live-preview]");
  if (!form) {
    return;
  }

  function typed() {
    const data = new URLSearchParams();
    new FormData(form).forEach(function (value, name) {
      // A file is shown once it is saved; a password is sent when it is saved, and not before.
      if (typeof value === "string" && form.elements[name].type !== "password") {
        data.append(name, value);
      }
    });
    data.set("step", "preview");
    return data;
  }

  function show(page) {
    const answer = new DOMParser().parseFromString(page, "text/html");
    PARTS.forEach(function (id) {
      const fresh = answer.getElementById(id);
      const shown = document.getElementById(id);
      if (fresh && shown && !shown.contains(document.activeElement)) {
        shown.replaceWith(document.adoptNode(fresh));
      }
    });
  }

  function ask() {
    return fetch(window.location.pathname, { method: "POST", body: typed() }).then(function (response) {
      return response.ok ? response.text() : "";
    });
  }

  form.addEventListener("input", window.typing.debounce(ask, show, PAUSE));
})();
