"use strict";
(function () {
  function value(row, place) {
    const cell = row.cells[place];
    const number = cell.dataset.n;
    return number === undefined ? cell.textContent.trim() : Number(number === "inf" ? Infinity : number === "-inf" ? -Infinity : number);
  }
  function compare(a, b) {
    const numbers = typeof a === "number", others = typeof b === "number";
    if (numbers && others) { return a - b; }
    if (numbers !== others) { return numbers ? -1 : 1; }
    return a.localeCompare(b, "en", { numeric: true });
  }
  function sortable(table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    const body = table.tBodies[0];
    const original = Array.from(body.rows);
    heads.forEach(function (head, place) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.appendChild(button);
      button.addEventListener("click", function () {
        const before = head.getAttribute("aria-sort");
        const now = before === "ascending" ? "descending" : before === "descending" ? null : "ascending";
        heads.forEach(function (one) { one.removeAttribute("aria-sort"); });
        const rows = original.slice();
        if (now) {
          head.setAttribute("aria-sort", now);
          const sign = now === "ascending" ? 1 : -1;
          rows.sort(function (one, other) {
            const a = value(one, place), b = value(other, place);
            if ((a === "\u2013") !== (b === "\u2013")) { return a === "\u2013" ? 1 : -1; }
            return sign * compare(a, b);
          });
        }
        rows.forEach(function (row) { body.appendChild(row); });
      });
    });
  }
  function filterable(box, table) {
    const rows = Array.from(table.tBodies[0].rows);
    if (rows.length < 11) { return; }
    const label = document.createElement("label");
    label.className = "filter";
    const words = document.createElement("span");
    words.textContent = "Show rows with";
    const input = document.createElement("input");
    input.type = "search";
    input.setAttribute("aria-controls", table.id);
    input.setAttribute("aria-label", "Show rows with: " + table.caption.textContent);
    const count = document.createElement("span");
    count.className = "count";
    count.setAttribute("role", "status");
    function show() {
      const wanted = input.value.toLocaleLowerCase("en").split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach(function (row) {
        const text = row.textContent.toLocaleLowerCase("en");
        row.hidden = !wanted.every(function (word) { return text.includes(word); });
        shown += row.hidden ? 0 : 1;
      });
      count.textContent = wanted.length ? shown + " of " + rows.length + " rows" : rows.length + " rows";
    }
    input.addEventListener("input", show);
    label.append(words, input, count);
    box.insertBefore(label, box.firstChild);
    show();
  }
  document.querySelectorAll("[data-table]").forEach(function (box) {
    const table = box.querySelector("table");
    sortable(table);
    filterable(box, table);
  });
})();
