// Says while a name is typed what the server would say of it: `data-check-name` holds the address to ask.
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
    const token = input.form.elements.csrfmiddlewaretoken.value;
    let timer = 0;
    let asked = 0;

    function ask() {
      const number = ++asked;
      if (!input.value.trim()) {
        say(input, "");
        return;
      }
      fetch(input.dataset.checkName, {
        method: "POST",
        headers: { "X-CSRFToken": token },
        body: new URLSearchParams({ name: input.value }),
      })
        .then(function (response) {
          return response.json();
        })
        .then(function (answer) {
          // Answers may overtake each other.
          if (number === asked) {
            say(input, answer.error);
          }
        })
        .catch(function () {
          // The form itself is checked when it is sent.
        });
    }

    input.addEventListener("input", function () {
      window.clearTimeout(timer);
      timer = window.setTimeout(ask, PAUSE);
    });
  });
})();
