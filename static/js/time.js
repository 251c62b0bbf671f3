// Pages state times in UTC; this adds the reader's own time where it differs.
(function () {
  "use strict";

  function formatOf(element) {
    // Logs tell seconds.
    const timeStyle = element.dataset.local === "seconds" ? "medium" : "short";
    return new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: timeStyle });
  }

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
