// Tells the service the browser's time zone, and adds the reader's own time to times that pages state in UTC.
(function () {
  "use strict";

  // Only pages with a form need the zone, and they have cookies anyway: strangers read all others without any.
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
    // Logs tell seconds.
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
