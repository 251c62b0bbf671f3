// Shows in the preview what is typed, while it is typed: the form itself is asked for, as its Preview button does,
// and the part that shows the preview is taken from the answer. Nothing is saved by it.
(function () {
  "use strict";

  const PAUSE = 500; // milliseconds without a key before the server is asked
  const form = document.querySelector("form[data-live-preview]");
  if (!form) {
    return;
  }

  function typed() {
    const data = new URLSearchParams();
    new FormData(form).forEach(function (value, name) {
      // A file is shown once it is saved.
      if (typeof value === "string") {
        data.append(name, value);
      }
    });
    data.set("step", "preview");
    return data;
  }

  function show(page) {
    const fresh = new DOMParser().parseFromString(page, "text/html").getElementById("preview");
    const shown = document.getElementById("preview");
    if (fresh && shown) {
      shown.replaceWith(document.adoptNode(fresh));
    }
  }

  function ask() {
    return fetch(window.location.pathname, { method: "POST", body: typed() }).then(function (response) {
      return response.ok ? response.text() : "";
    });
  }

  form.addEventListener("input", window.typing.debounce(ask, show, PAUSE));
})();
