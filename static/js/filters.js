// Applies the filters of a list when they change, without their button, and refreshes lists that change by themselves.
// Only the elements with `data-live` are replaced, and none that has the focus. Scripts that prepare parts of a page
// listen to the event "live", whose detail is the new element. Without this script, people press the button "Apply", and
// reload the page.
(function () {
  "use strict";

  const REFRESH_MILLISECONDS = 5000;
  const form = document.querySelector("form[data-filters]");
  const status = document.querySelector("[data-filters-says]"); // tells screen readers what sighted people see
  const received = new Map(); // what the service sent last, by id: other scripts change the elements

  // The HTML of an element without the tokens of its forms, which differ in each response.
  function contentOf(element) {
    const copy = element.cloneNode(true);
    copy.querySelectorAll("[name=csrfmiddlewaretoken], [name=once]").forEach(function (field) {
      field.remove();
    });
    return copy.innerHTML;
  }

  function replaceLive(html) {
    const loaded = new DOMParser().parseFromString(html, "text/html");
    document.querySelectorAll("[data-live]").forEach(function (element) {
      const found = loaded.getElementById(element.id);
      if (!found || element.contains(document.activeElement)) {
        return;
      }
      const before = received.get(element.id) ?? contentOf(element);
      const now = contentOf(found);
      received.set(element.id, now);
      if (now !== before) {
        element.replaceWith(found);
        document.dispatchEvent(new CustomEvent("live", { detail: found }));
      }
    });
  }

  function load(url) {
    return fetch(url, { headers: { Accept: "text/html" } }).then(function (response) {
      if (!response.ok || response.redirected) {
        throw new Error("The page is not available.");
      }
      return response.text();
    });
  }

  function addressOfForm() {
    const query = new URLSearchParams();
    new FormData(form).forEach(function (value, name) {
      if (value) {
        query.append(name, value);
      }
    });
    return location.pathname + (query.size ? "?" + query : "");
  }

  function apply() {
    const address = addressOfForm();
    return load(address).then(function (html) {
      history.replaceState(null, "", address);
      return html;
    });
  }

  function showFiltered(html) {
    replaceLive(html);
    const error = form.querySelector(".field__errors");
    status.textContent = error ? error.textContent : status.dataset.filtersSays;
  }

  function watchFilters() {
    const applySoon = window.typing.debounce(apply, showFiltered, 300);
    form.querySelector("button[type=submit]").hidden = true;
    form.addEventListener("input", function (event) {
      // The fields of a time take precedence over the range, so a new range empties them.
      if (event.target.name === "range") {
        ["from", "to"].forEach(function (name) {
          if (form.elements[name]) {
            form.elements[name].value = "";
          }
        });
      }
      status.textContent = "";
      applySoon();
    });
  }

  function refresh() {
    const results = document.querySelector("[data-refresh]");
    if (results && !document.hidden && !results.contains(document.activeElement)) {
      const address = location.href;
      load(address).then(
        function (html) {
          // Otherwise, a filter has changed meanwhile.
          if (location.href === address) {
            replaceLive(html);
          }
        },
        function () {}
      );
    }
  }

  if (form) {
    watchFilters();
  }
  if (document.querySelector("[data-refresh]")) {
    setInterval(refresh, REFRESH_MILLISECONDS);
  }
})();
