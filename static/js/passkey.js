// Says on the page that a passkey step failed or was cancelled; the library only writes to the console.
(function () {
  "use strict";

  document.addEventListener("allauth.error", function (event) {
    const notice = document.querySelector("[data-passkey-failed]");
    if (notice) {
      event.preventDefault();
      notice.hidden = false;
    }
  });
})();
