// Stores the browser's time zone in a cookie, and adds the local time to times that pages show in UTC.
(function () {
  "use strict";

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

  function formatOf(element) {
    // Logs show seconds.
    const timeStyle = element.dataset.local === "seconds" ? "medium" : "short";
    return new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: timeStyle });
  }

  storeZone();
  document.querySelectorAll("time[data-local]").forEach(function (element) {
    const moment = new Date(element.dateTime);
    if (Number.isNaN(moment.getTime()) || moment.getTimezoneOffset() === 0) {
      return;
    }
    const local = document.createElement("span");
    local.className = "time-local";
    local.textContent = " (" + formatOf(element).format(moment) + " your time)";
    element.after(local);
  });
})();
