// Updates the preview while someone types: posts the form with the step preview, and replaces the preview and the
// checklist with those of the response. Nothing is saved.
(function () {
  "use strict";

  const PAUSE = 500; // milliseconds without a keystroke before the server is asked
  const PARTS = ["preview", "checklist"];
  const form = document.querySelector("form[data-live-preview]");
  if (!form) {
    return;
  }

  function typed() {
    const data = new URLSearchParams();
    new FormData(form).forEach(function (value, name) {
      // Files and passwords are only sent when the form is saved.
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
