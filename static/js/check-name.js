// Checks a name on the server while someone types it, and shows the error. `data-check-name` holds the URL of the
// check. The saved name, in `data-saved-name`, is always allowed, so it is not checked.
(function () {
  "use strict";

  const PAUSE = 350; // milliseconds without a keystroke before the server is asked

  function say(input, text) {
    const place = document.getElementById(input.id + "_says");
    if (!place) {
      return;
    }
    place.replaceChildren();
    if (text) {
      const line = document.createElement("p");
      line.className = "addresses__error";
      line.textContent = text;
      place.append(line);
      input.setAttribute("aria-invalid", "true");
    } else {
      input.removeAttribute("aria-invalid");
    }
  }

  document.querySelectorAll("input[data-check-name]").forEach(function (input) {
    function ask() {
      const name = input.value.trim();
      if (!name || name === input.dataset.savedName) {
        return Promise.resolve({ error: "" });
      }
      const fields = new URLSearchParams({ name: input.value });
      return window.typing.postBeside(input.form, input.dataset.checkName, fields);
    }

    function show(answer) {
      say(input, answer.error);
    }

    input.addEventListener("input", window.typing.debounce(ask, show, PAUSE));
  });
})();
