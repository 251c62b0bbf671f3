// Asking the server while somebody types: for the scripts that are loaded after this one.
(function () {
  "use strict";

  // Returns the function to call whenever something was typed. After `pause` milliseconds without a call, `ask` is
  // called, which returns the promise of an answer; `show` gets the answer unless a newer one was asked for meanwhile,
  // since answers may overtake each other. A failure is not shown: the form itself is checked when it is sent.
  function debounce(ask, show, pause) {
    let timer = 0;
    let asked = 0;

    function askNow() {
      const number = ++asked;
      ask()
        .then(function (answer) {
          if (number === asked) {
            show(answer);
          }
        })
        .catch(function () {});
    }

    return function () {
      window.clearTimeout(timer);
      timer = window.setTimeout(askNow, pause);
    };
  }

  // Posts fields beside a form, with the form's own token, and returns the promise of the JSON answer.
  function postBeside(form, address, fields) {
    const token = form.elements.csrfmiddlewaretoken.value;
    return fetch(address, { method: "POST", headers: { "X-CSRFToken": token }, body: fields }).then(function (response) {
      return response.json();
    });
  }

  window.typing = { debounce: debounce, postBeside: postBeside };
})();
