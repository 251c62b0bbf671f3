// The jump box: ⌘K, Ctrl+K or / opens it, results appear while someone types, and the arrow keys select one of them.
// Without this script, the link opens a page that does the same.
(function () {
  "use strict";

  const PAUSE = 120; // milliseconds without a keystroke before the server is asked
  const link = document.querySelector("[data-jump]");
  const dialog = document.getElementById("jump");
  if (!link || !dialog || !dialog.showModal) {
    return;
  }
  const form = dialog.querySelector("form");
  const input = form.elements.q;
  const results = document.getElementById("jump-results");
  const says = dialog.querySelector("[data-jump-says]");
  const keys = link.querySelector("[data-jump-keys]");
  const isMac = /Mac|iP(hone|ad|od)/.test(navigator.platform);
  let timer = 0;
  let asked = null; // the AbortController of the last request
  let pending = false; // whether the results belong to an older query than the one in the field
  let picked = ""; // the URL selected with the arrow keys since the last keystroke

  keys.textContent = isMac ? "⌘K" : "Ctrl K";
  keys.hidden = false;
  link.setAttribute("aria-haspopup", "dialog");

  function options() {
    return Array.from(results.querySelectorAll("[role=option]"));
  }

  function chosen() {
    return results.querySelector("[aria-selected=true]");
  }

  function choose(option) {
    options().forEach(function (one) {
      one.setAttribute("aria-selected", String(one === option));
    });
    if (option) {
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else {
      input.removeAttribute("aria-activedescendant");
    }
  }

  function show(html) {
    // The HTML comes from this service, which has escaped it.
    results.innerHTML = html;
    pending = false;
    const found = options();
    input.setAttribute("aria-expanded", String(found.length > 0));
    choose(
      found.find(function (one) {
        return one.href === picked;
      }) ||
        found[0] ||
        null,
    );
    results.setAttribute("aria-busy", "false");
    says.textContent = found.length === 1 ? "1 result" : found.length + " results";
  }

  function ask() {
    if (asked) {
      asked.abort();
    }
    asked = new AbortController();
    results.setAttribute("aria-busy", "true");
    const address = form.action + "?" + new URLSearchParams(new FormData(form)) + "&list=";
    fetch(address, { signal: asked.signal, redirect: "error" })
      .then(function (answer) {
        if (!answer.ok) {
          throw new Error(String(answer.status));
        }
        return answer.text();
      })
      .then(show)
      // Failures are not shown: Enter still opens the page that does the same.
      .catch(function (error) {
        if (error.name !== "AbortError") {
          results.setAttribute("aria-busy", "false");
        }
      });
  }

  function open() {
    if (dialog.open) {
      return;
    }
    dialog.showModal();
    picked = "";
    choose(options()[0] || null);
    input.select();
    ask();
  }

  function close() {
    dialog.close();
    // Without this, the hidden field could keep the focus until the next frame, and "/" would not open the box again.
    input.blur();
  }

  function move(step) {
    const found = options();
    const place = found.indexOf(chosen());
    if (found.length) {
      const option = found[(place + step + found.length) % found.length];
      picked = option.href;
      choose(option);
    }
  }

  link.addEventListener("click", function (event) {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      open();
    }
  });

  document.addEventListener("keydown", function (event) {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    const isShortcut = (isMac ? event.metaKey : event.ctrlKey) && !event.altKey && event.key.toLowerCase() === "k";
    const isSlash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    if ((isShortcut || isSlash) && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      open();
    }
  });

  input.addEventListener("input", function () {
    pending = true;
    picked = "";
    results.setAttribute("aria-busy", "true");
    window.clearTimeout(timer);
    timer = window.setTimeout(ask, PAUSE);
  });

  input.addEventListener("keydown", function (event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape") {
      // By default, the first Escape only empties a search field.
      event.preventDefault();
      close();
    }
  });

  form.addEventListener("submit", function (event) {
    const option = chosen();
    if (option && !pending) {
      event.preventDefault();
      option.click();
    }
  });

  dialog.querySelector("[data-jump-close]").addEventListener("click", close);

  dialog.addEventListener("click", function (event) {
    if (event.target === dialog) {
      close();
    }
  });
})();
