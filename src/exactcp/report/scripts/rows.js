// The table of rows: filtered, sorted, a page at a time, and as a file.

const ROWS_OF_A_PAGE = 25;
const COLUMNS_SHOWN = 6;

function rowsTable(task, data, writeLevel) {
  const cells = data.columns.map((column) => ({
    key: column.name,
    name: column.name,
    value: (row) => (column.numbers ? column.numbers[row] : column.texts[column.places[row]]),
    isCell: true,
  }));
  const own = task.columns.filter((column) => column.has !== false);
  const row = { key: "row", name: "row", value: (at) => at + 1, isCell: true };
  const shown = [row, ...own, ...cells.slice(0, COLUMNS_SHOWN)];
  const state = { filters: {}, sort: row, isDescending: false, first: 0 };
  const [head, body] = [byId("rows").tHead, byId("rows").tBodies[0]];
  let found = [];

  const heads = shown.map((column) => {
    const sort = button(column.name, { class: "sort" }, () => {
      state.isDescending = state.sort === column && !state.isDescending;
      state.sort = column;
      state.first = 0;
      update();
    });
    return make("th", { scope: "col", class: isText(column) ? "text" : null }, sort);
  });
  const pictureHead = data.pictures ? [make("th", { scope: "col", class: "text" }, "picture")] : [];
  head.append(make("tr", {}, heads[0], ...pictureHead, ...heads.slice(1)));
  const pictures = data.pictures && pictureMaker(data.pictures);

  function isText(column) {
    return data.shown > 0 && typeof column.value(0) === "string";
  }

  function compare(a, b) {
    const [x, y] = [state.sort.value(a), state.sort.value(b)];
    const [isLast, isFirst] = [isMissing(x), isMissing(y)];
    if (isLast || isFirst) return isLast - isFirst || a - b; // what is missing comes last, whichever way
    const order = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
    return (state.isDescending ? -order : order) || a - b;
  }

  function isMissing(value) {
    return value === null || value === "" || Number.isNaN(value);
  }

  function write(column, at) {
    const value = column.value(at);
    if (column.show) return column.show(at);
    if (value === null || Number.isNaN(value)) return "";
    return column.isCell || typeof value === "string" ? String(value) : number(value, column.digits ?? 4);
  }

  function show() {
    const last = Math.min(found.length, state.first + ROWS_OF_A_PAGE);
    body.replaceChildren(
      ...found.slice(state.first, last).map((at) => {
        const written = shown.map((column, k) =>
          k === 0
            ? make("th", { scope: "row" }, write(column, at))
            : make("td", { class: isText(column) ? "text" : null }, write(column, at)),
        );
        if (pictures) written.splice(1, 0, make("td", { class: "text" }, pictures(at)));
        return make("tr", { "data-row": at + 1 }, ...written);
      }),
    );
    byId("previous").disabled = state.first === 0;
    byId("next").disabled = last >= found.length;
    const which = found.length ? `, ${whole(state.first + 1)} to ${whole(last)} shown` : "";
    byId("found").textContent = `${whole(found.length)} of ${count(data.shown, "row")}${which}.`;
    const direction = state.isDescending ? "descending" : "ascending";
    heads.forEach((cell, k) => cell.setAttribute("aria-sort", shown[k] === state.sort ? direction : "none"));
  }

  function update() {
    const active = task.filters.filter(({ name }) => (state.filters[name] ?? "") !== "");
    found = [];
    for (let at = 0; at < data.shown; at += 1) {
      if (active.every(({ name, test }) => test(at, state.filters[name]))) found.push(at);
    }
    found.sort(compare);
    if (state.first >= found.length) state.first = 0;
    show();
  }

  // quotes where they are needed, as RFC 4180 has them
  function field(value) {
    const text = value === null || Number.isNaN(value) ? "" : value === Infinity ? "inf" : value === -Infinity ? "-inf" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv() {
    const all = [row, ...own, ...task.more, ...cells];
    const taken = new Set();
    const unique = (name) => {
      while (taken.has(name)) name += "_given";
      taken.add(name);
      return name;
    };
    const lines = [all.map((column) => field(unique(column.key))), ...found.map((at) => all.map((column) => field(column.value(at))))];
    return lines.map((line) => line.join(",") + "\r\n").join("");
  }

  byId("previous").addEventListener("click", () => ((state.first = Math.max(0, state.first - ROWS_OF_A_PAGE)), show()));
  byId("next").addEventListener("click", () => ((state.first += ROWS_OF_A_PAGE), show()));
  byId("download").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    const link = make("a", { href: url, download: `rows-${writeLevel()}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });

  return {
    state,
    update,
    restart() {
      state.first = 0;
      update();
    },
  };
}

// Grey pictures of rows, as dark as their largest pixel.
function pictureMaker({ width, height, grey }) {
  const bytes = Uint8Array.from(atob(grey), (character) => character.charCodeAt(0));
  return (at) => {
    const made = make("canvas", { class: "pixels", width, height, role: "img", "aria-label": `Test row ${at + 1} as a picture` });
    const pixels = new ImageData(width, height);
    for (let k = 0; k < width * height; k += 1) {
      const shade = 255 - bytes[at * width * height + k];
      pixels.data.set([shade, shade, shade, 255], 4 * k);
    }
    made.getContext("2d").putImageData(pixels, 0, 0);
    return made;
  };
}
