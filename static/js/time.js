// Shows times in the reader's zone, and stores the name of the zone in a cookie.
//
// The service writes times in the zone that the cookie names, with UTC as the tooltip (core/time_zones.py). It writes
// UTC if it does not know the zone, and in drawings; this script then replaces the text. Where a page has the switch
// [data-times], it exchanges text and tooltip of all times, and remembers the choice in this browser.
(function () {
  "use strict";

  const KEY = "times";
  const language = document.documentElement.lang || "en";

  // Only pages with a form need the time zone. They set cookies anyway; all other pages can be read without cookies.
  function storeZone() {
    if (!document.querySelector("input[name=csrfmiddlewaretoken]")) {
      return;
    }
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const isHttps = location.protocol === "https:";
    const cookie = (isHttps ? "__Host-" : "") + "openport_zone=" + zone;
    // The service checks the name (core/time_zones.py).
    if (/^[\w+/-]{1,64}$/.test(zone || "") && !document.cookie.split("; ").includes(cookie)) {
      document.cookie = cookie + "; Path=/; Max-Age=31536000; SameSite=Lax" + (isHttps ? "; Secure" : "");
    }
  }

  // Return the day as "Today", "Yesterday" or "Tomorrow", or as a date such as "17 May 2030".
  function dayOf(moment, inWords) {
    const midnight = function (day) {
      return new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime();
    };
    const days = Math.round((midnight(moment) - midnight(new Date())) / 86400000);
    if (inWords && Math.abs(days) <= 1) {
      const word = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(days, "day");
      return word.charAt(0).toLocaleUpperCase(language) + word.slice(1);
    }
    const parts = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", year: "numeric" })
      .formatToParts(moment)
      .reduce(function (found, part) {
        found[part.type] = part.value;
        return found;
      }, {});
    return parts.day + " " + parts.month + " " + parts.year;
  }

  function clockTime(moment, form) {
    const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
    if (form.includes("seconds")) {
      time.second = "2-digit";
    }
    return new Intl.DateTimeFormat(language, time).format(moment);
  }

  function localText(moment, form) {
    return dayOf(moment, !form.includes("date")) + ", " + clockTime(moment, form);
  }

  function exchange(part) {
    part.querySelectorAll("time[title]").forEach(function (element) {
      const text = element.textContent;
      element.textContent = element.title;
      element.title = text;
    });
    part.querySelectorAll("text[data-time]").forEach(function (label) {
      const text = label.textContent;
      label.textContent = label.dataset.other;
      label.dataset.other = text;
    });
    part.querySelectorAll("[data-in-utc]").forEach(function (element) {
      element.hidden = !element.hidden;
    });
  }

  function stored(choice) {
    try {
      if (choice) {
        localStorage.setItem(KEY, choice);
      }
      return localStorage.getItem(KEY);
    } catch {
      return choice; // the browser has no storage for this site
    }
  }

  let shown = "local";

  function offerChoice(control) {
    const choices = control.querySelectorAll("button");
    function show(choice) {
      choices.forEach(function (button) {
        button.setAttribute("aria-pressed", String(button.value === choice));
      });
    }
    function choose(choice) {
      if (choice !== shown) {
        exchange(document);
        shown = choice;
      }
      show(choice);
    }
    choices.forEach(function (button) {
      button.addEventListener("click", function () {
        choose(stored(button.value) || button.value);
      });
    });
    choose(stored() === "utc" ? "utc" : "local");
    control.hidden = false;
  }

  function showLocal(part) {
    part.querySelectorAll("time[data-local]").forEach(function (element) {
      const moment = new Date(element.dateTime);
      if (!Number.isNaN(moment.getTime())) {
        element.title = element.textContent;
        element.textContent = localText(moment, element.dataset.local);
      }
    });
    part.querySelectorAll("text[data-time]").forEach(function (label) {
      label.dataset.other = label.textContent;
      label.textContent = clockTime(new Date(label.dataset.time), "");
    });
    part.querySelectorAll("[data-in-utc]").forEach(function (element) {
      element.hidden = true;
    });
  }

  storeZone();
  showLocal(document);
  document.querySelectorAll("[data-times]").forEach(offerChoice);
  // A part that filters.js has replaced.
  document.addEventListener("live", function (event) {
    showLocal(event.detail);
    if (shown === "utc") {
      exchange(event.detail);
    }
  });
})();
