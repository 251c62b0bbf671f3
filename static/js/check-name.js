// Says while a name is typed what the server would say of it: `data-check-name` holds the URL to ask. The name in
// `data-saved-name` may stay as it is, so it is not checked.
(function () {
  "use strict";

  const PAUSE = 350; // milliseconds without a key before the server is asked

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
