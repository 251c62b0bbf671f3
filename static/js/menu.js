// Menus of the header: only one is open at a time, and Escape or a click elsewhere closes it. Without this script, each
// menu opens and closes when its label is clicked (<details>).
(function () {
  "use strict";

  const menus = Array.from(document.querySelectorAll("[data-menu]"));

  function closeOthers(kept) {
    menus.forEach(function (menu) {
      if (menu !== kept) {
        menu.open = false;
      }
    });
  }

  menus.forEach(function (menu) {
    menu.addEventListener("toggle", function () {
      if (menu.open) {
        closeOthers(menu);
      }
    });
    menu.addEventListener("keydown", function (event) {
      if (event.key === "Escape" && menu.open) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
    });
  });

  document.addEventListener("click", function (event) {
    closeOthers(event.target.closest("[data-menu]"));
  });
})();
