// Rows of URLs: adds and removes rows, and checks them on the server while someone types. `data-addresses` on the
// fieldset holds the URL of the check. Without this script, the server does the same when the form is submitted.
(function () {
  "use strict";

  const PAUSE = 350; // milliseconds without a keystroke before the server is asked

  function line(text, kind) {
    const element = document.createElement("p");
    element.className = "addresses__" + kind;
    element.textContent = text;
    return element;
  }

  function inputOf(row) {
    return row.querySelector("input");
  }

  function say(row, entry) {
    const lines = entry.notes.map(function (note) {
      return line(note, "note");
    });
    if (entry.error) {
      lines.unshift(line(entry.error, "error"));
      inputOf(row).setAttribute("aria-invalid", "true");
    } else {
      inputOf(row).removeAttribute("aria-invalid");
    }
    const place = row.querySelector("[data-says]");
    const text = entry.error + entry.notes.join();
    // Screen readers announce every replacement, so unchanged text is left in place.
    if (place.dataset.said !== text) {
      place.dataset.said = text;
      place.replaceChildren(...lines);
    }
  }

  function setUp(fieldset) {
    const list = fieldset.querySelector("[data-rows]");
    const askSoon = window.typing.debounce(ask, show, PAUSE);

    function rows() {
      return Array.from(list.children);
    }

    function ask() {
      const asked = rows();
      const fields = new URLSearchParams();
      asked.forEach(function (row) {
        fields.append("address", inputOf(row).value);
      });
      return window.typing.postBeside(fieldset.form, fieldset.dataset.addresses, fields).then(function (answer) {
        return { rows: asked, entries: answer.entries };
      });
    }

    function show(answer) {
      // Skip the results if rows were added or removed since the request.
      if (answer.rows.length === list.children.length) {
        answer.rows.forEach(function (row, place) {
          say(row, answer.entries[place]);
        });
      }
    }

    function number(row, place) {
      const input = inputOf(row);
      const says = row.querySelector("[data-says]");
      const label = input.dataset.noun + " " + (place + 1);
      input.id = "id_" + input.name + "_" + (place + 1);
      input.setAttribute("aria-label", label);
      says.id = input.id + "_says";
      input.setAttribute("aria-describedby", says.id);
      row.querySelector("[data-remove]").setAttribute("aria-label", "Remove " + label);
    }

    // Empty rows are ignored by the server, so they need no Remove button.
    function showRemovals() {
      rows().forEach(function (row) {
        row.querySelector("[data-remove]").hidden = !inputOf(row).value;
      });
    }

    function add() {
      const row = list.lastElementChild.cloneNode(true);
      inputOf(row).value = "";
      say(row, { error: "", notes: [] });
      list.append(row);
      rows().forEach(number);
      showRemovals();
      inputOf(row).focus();
    }

    function remove(row) {
      const place = rows().indexOf(row);
      if (list.children.length === 1) {
        inputOf(row).value = "";
      } else {
        row.remove();
        rows().forEach(number);
      }
      showRemovals();
      inputOf(rows()[Math.min(place, list.children.length - 1)]).focus();
      askSoon();
    }

    list.addEventListener("input", function () {
      showRemovals();
      askSoon();
    });
    list.addEventListener("click", function (event) {
      const button = event.target.closest("[data-remove]");
      if (button) {
        remove(button.closest("li"));
      }
    });
    fieldset.querySelector("[data-more]").addEventListener("click", function (event) {
      event.preventDefault();
      add();
    });
    fieldset.querySelector("[data-more]").firstChild.textContent = "Add a row";
    showRemovals();
  }

  document.querySelectorAll("fieldset[data-addresses]").forEach(setUp);
})();
