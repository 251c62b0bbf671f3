// Asks before a page with a changed form is left in another way than by sending the form, such as by another form.
(function () {
  "use strict";

  const form = document.querySelector("form[data-unsaved]");
  let isChanged = false;

  if (!form) {
    return;
  }
  // A form that came back with errors, or with more rows, has never been saved.
  isChanged = form.dataset.unsaved === "changed";
  ["input", "change"].forEach(function (kind) {
    form.addEventListener(kind, function () {
      isChanged = true;
    });
  });
  form.addEventListener("click", function (event) {
    isChanged = isChanged || Boolean(event.target.closest("[data-remove]"));
  });
  form.addEventListener("submit", function () {
    isChanged = false;
  });
  window.addEventListener("beforeunload", function (event) {
    if (isChanged) {
      event.preventDefault();
    }
  });
})();
