// Copy buttons: `data-copy` holds the text itself, `data-copy-from` the id of the element that shows it.
// They stay hidden where the clipboard is not available: without JavaScript, or on an insecure connection.
(function () {
  "use strict";

  if (!navigator.clipboard) {
    return;
  }

  function textOf(button) {
    if (button.dataset.copyFrom) {
      const source = document.getElementById(button.dataset.copyFrom);
      return source ? source.innerText.trim() : "";
    }
    return button.dataset.copy;
  }

  function prepare(button) {
    const says = button.querySelector("[data-copy-says]") || button;
    const label = says.textContent;
    const name = button.getAttribute("aria-label");
    button.setAttribute("aria-live", "polite");
    button.hidden = false;
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(textOf(button)).then(
        function () {
          says.textContent = "Copied";
        },
        function () {
          says.textContent = "Could not copy";
        }
      ).finally(function () {
        // While the button shows the result, screen readers have to read the result, not the label.
        button.removeAttribute("aria-label");
        window.setTimeout(function () {
          says.textContent = label;
          if (name) {
            button.setAttribute("aria-label", name);
          }
        }, 2000);
      });
    });
  }

  function prepareAll(part) {
    part.querySelectorAll("[data-copy], [data-copy-from]").forEach(prepare);
  }

  prepareAll(document);
  document.addEventListener("live", function (event) {
    prepareAll(event.detail); // a part that filters.js has replaced
  });
})();
