// Shows a card with the values of a bar, when the pointer or the keyboard focus is on it.
//
// The values are those of the table behind the chart. Each chart is one tab stop; the arrow keys go from bar to bar.
// Without this script, bars have tooltips and the table has all values.
(function () {
  "use strict";

  function cardOf(chart, row) {
    const heads = chart.querySelectorAll("thead th");
    const card = document.createElement("div");
    const title = document.createElement("p");
    const list = document.createElement("dl");
    title.textContent = row.cells[0].textContent;
    for (let place = 1; place < row.cells.length; place += 1) {
      const name = document.createElement("dt");
      const value = document.createElement("dd");
      name.textContent = heads[place].textContent;
      value.textContent = row.cells[place].textContent.trim();
      list.append(name, value);
    }
    card.className = "chart__card";
    card.setAttribute("aria-hidden", "true"); // the bar's name says the same
    card.append(title, list);
    return card;
  }

  function set(chart) {
    const frame = chart.querySelector(".chart__frame");
    const rows = chart.querySelectorAll("tbody tr");
    let card = null;
    let tapped = null;

    function hide() {
      if (card) {
        card.remove();
        card = null;
      }
    }

    function show(column) {
      hide();
      card = cardOf(chart, rows[Number(column.dataset.bar)]);
      frame.append(card);
      const bar = column.getBoundingClientRect();
      const around = frame.getBoundingClientRect();
      const right = bar.right - around.left + 8;
      const left = bar.left - around.left - card.offsetWidth - 8;
      const fits = right + card.offsetWidth <= around.width;
      card.style.left = (fits ? right : Math.max(left, 0)) + "px";
    }

    chart.querySelectorAll("svg").forEach(function (drawing) {
      const columns = Array.from(drawing.querySelectorAll("[data-bar]"));
      const stops = columns.map(function (column) {
        return column.closest("a") || column;
      });
      columns.forEach(function (column, place) {
        const stop = stops[place];
        if (stop === column) {
          column.setAttribute("role", "img");
          column.setAttribute("aria-label", column.querySelector("title").textContent);
        }
        column.querySelector("title").remove(); // the card replaces the tooltip
        stop.setAttribute("tabindex", place === columns.length - 1 ? "0" : "-1");
        column.addEventListener("pointerenter", function () {
          show(column);
        });
        column.addEventListener("pointerleave", function (event) {
          if (event.pointerType !== "touch") {
            hide();
          }
        });
        // With a finger, the first tap shows the card, and the second follows the link.
        stop.addEventListener("click", function (event) {
          if (event.pointerType === "touch" && tapped !== column) {
            event.preventDefault();
            tapped = column;
            show(column);
          }
        });
        stop.addEventListener("focus", function () {
          show(column);
        });
        stop.addEventListener("blur", function () {
          tapped = null;
          hide();
        });
        stop.addEventListener("keydown", function (event) {
          const next = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: stops.length - 1 }[event.key];
          if (stops[next]) {
            event.preventDefault();
            stop.setAttribute("tabindex", "-1");
            stops[next].setAttribute("tabindex", "0");
            stops[next].focus();
          }
        });
      });
      if (columns.length) {
        drawing.setAttribute("role", "group"); // an image has no parts that can be reached
      }
    });
  }

  function setAll(part) {
    part.querySelectorAll(".chart:has(.chart__table)").forEach(set);
  }

  setAll(document);
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") {
      document.querySelectorAll(".chart__card").forEach(function (card) {
        card.remove();
      });
    }
  });
  // A part that filters.js has replaced.
  document.addEventListener("live", function (event) {
    setAll(event.detail);
  });
})();
