// Counts down waiting times on a page. `data-counts-down` holds the seconds that were left when the page was rendered,
// and `data-counted-down` the text to show at the end. Without this script, the page shows the time rounded up.
(function () {
  "use strict";

  const UNITS = [
    ["hour", 3600],
    ["minute", 60],
    ["second", 1],
  ];

  function inWords(seconds) {
    const words = [];
    let left = seconds;
    UNITS.forEach(function (unit) {
      const count = Math.floor(left / unit[1]);
      left -= count * unit[1];
      if (count) {
        words.push(count + " " + unit[0] + (count === 1 ? "" : "s"));
      }
    });
    // Two units are enough: hours are shown without seconds.
    return words.slice(0, 2).join(" ");
  }

  document.querySelectorAll("[data-counts-down]").forEach(function (element) {
    // Browsers run timers of background tabs rarely, so the time left is read from the clock.
    const end = Date.now() + 1000 * Number(element.dataset.countsDown);
    const whole = element.closest("[data-counted-down]");
    const timer = window.setInterval(show, 1000);

    function show() {
      const left = Math.ceil((end - Date.now()) / 1000);
      if (left > 0) {
        element.textContent = inWords(left);
        return;
      }
      window.clearInterval(timer);
      (whole || element).textContent = whole ? whole.dataset.countedDown : "a moment";
    }

    show();
  });
})();
