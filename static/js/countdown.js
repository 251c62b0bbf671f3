// Lets the waits that a page tells run down: `data-counts-down` holds the seconds that were left when it was made, and
// the text, rounded up, is right without this. At the end, `data-counted-down` says what holds then.
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
    // Of hours nobody needs the seconds.
    return words.slice(0, 2).join(" ");
  }

  document.querySelectorAll("[data-counts-down]").forEach(function (element) {
    // By the clock, not by counting: a tab in the background is woken rarely.
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
