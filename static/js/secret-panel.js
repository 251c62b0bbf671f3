// For the page that shows a secret once: offers it as a download, and asks for confirmation before the page is left.
(function () {
  "use strict";

  let isStored = false;

  document.querySelectorAll("[data-download-from]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      const text = document.getElementById(button.dataset.downloadFrom).textContent;
      const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
      const link = document.createElement("a");
      link.href = address;
      link.download = button.dataset.downloadAs;
      link.click();
      URL.revokeObjectURL(address);
    });
  });

  document.querySelectorAll("[data-stored]").forEach(function (link) {
    link.addEventListener("click", function () {
      isStored = true;
    });
  });

  window.addEventListener("beforeunload", function (event) {
    if (!isStored) {
      event.preventDefault();
    }
  });
})();
