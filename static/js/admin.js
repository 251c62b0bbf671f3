// Fixes accessibility problems of the admin's theme: elements that react to clicks become buttons for keyboards and
// screen readers, the names of icons are not read out, and fields that scripts create get the names of their labels.
(function () {
  "use strict";

  const WORDS = {
    dock_to_right: "Menu",
    close: "Close",
    more_horiz: "More",
    unfold_more: "Your account",
    filter_list: "Filters",
    delete: "Delete",
    add: "Add",
    edit: "Edit",
    visibility: "View",
    search: "Search",
  };
  const NATIVE = "a[href], button, input, select, textarea, label, summary";

  function press(event) {
    if ((event.key === "Enter" || event.key === " ") && event.target === event.currentTarget) {
      event.preventDefault();
      event.currentTarget.click();
    }
  }

  function makeButton(element) {
    if (element.matches(NATIVE) || element.getAttribute("role") === "button") {
      return;
    }
    element.setAttribute("role", "button");
    element.setAttribute("tabindex", "0");
    element.addEventListener("keydown", press);
  }

  function nameIcon(icon) {
    const word = icon.textContent.trim();
    const actor = icon.closest("a, button, [role=button]");
    const bare = actor && actor.textContent.trim() === word;
    if (bare && !actor.hasAttribute("aria-label") && !actor.title) {
      actor.setAttribute("aria-label", WORDS[word] || word.replace(/_/g, " "));
    }
    if (icon !== actor && icon.getAttribute("aria-hidden") !== "true") {
      icon.setAttribute("aria-hidden", "true");
    }
  }

  function nameChoice(container) {
    const select = container.previousElementSibling;
    const label = select && (select.labels[0] || select.closest("[data-label]"));
    const name = label && (label.dataset.label || label.textContent).replace("*", "").trim();
    container.querySelectorAll("[role=combobox], [role=textbox], [role=searchbox]").forEach(function (part) {
      if (name && part.getAttribute("aria-label") !== name) {
        part.removeAttribute("aria-labelledby");
        part.setAttribute("aria-label", name);
      }
    });
  }

  function nameScroller(scroller) {
    const name = scroller.closest("#nav-sidebar") ? "Lists" : "Table";
    if (scroller.getAttribute("aria-label") !== name) {
      scroller.setAttribute("aria-label", name);
    }
  }

  function nameHeading(heading) {
    if (!heading.textContent.trim() && !heading.querySelector("input")) {
      const text = document.createElement("span");
      text.className = "unseen";
      text.textContent = "Delete";
      heading.append(text);
    }
  }

  function fix() {
    document.querySelectorAll("[x-on\\:click]").forEach(makeButton);
    document.querySelectorAll(".material-symbols-outlined").forEach(nameIcon);
    document.querySelectorAll("select + .select2-container").forEach(nameChoice);
    document.querySelectorAll(".simplebar-content-wrapper").forEach(nameScroller);
    document.querySelectorAll("thead th").forEach(nameHeading);
  }

  let waiting = false;
  function fixSoon() {
    if (!waiting) {
      waiting = true;
      window.requestAnimationFrame(function () {
        waiting = false;
        fix();
      });
    }
  }

  document.addEventListener("DOMContentLoaded", function () {
    fix();
    new MutationObserver(fixSoon).observe(document.body, { childList: true, subtree: true });
  });
})();
