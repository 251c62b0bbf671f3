// Functions that ask the server while someone types. Scripts that are loaded after this one use them.
(function () {
  "use strict";

  // Returns a function to call after every keystroke. After `pause` milliseconds without a call, it calls `ask`, which
  // returns a promise, and passes the result to `show`. Results of older requests are dropped, because responses can
  // arrive in a different order. Failures are not shown, because the server checks the form when it is submitted.
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

  // Posts fields with a form's CSRF token, without submitting the form. Returns a promise of the JSON response.
  function postBeside(form, address, fields) {
    const token = form.elements.csrfmiddlewaretoken.value;
    return fetch(address, { method: "POST", headers: { "X-CSRFToken": token }, body: fields }).then(function (response) {
      return response.json();
    });
  }

  window.typing = { debounce: debounce, postBeside: postBeside };
})();
