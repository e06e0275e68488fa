// The rows: a table that is filtered, sorted and shown a page at a time, and cards of the first ones in some order.

const ROWS_OF_A_PAGE = 25;
const CARDS = 9;

// Grey pictures of rows, as dark as their largest pixel.
function pictureMaker({ width, height, pixels }) {
  const bytes = unpack(pixels);
  return (row) => {
    const made = make("canvas", { class: "pixels", width, height, role: "img", "aria-label": `Test row ${row + 1} as a picture` });
    const image = new ImageData(width, height);
    for (let k = 0; k < width * height; k += 1) {
      const shade = 255 - bytes[row * width * height + k];
      image.data.set([shade, shade, shade, 255], 4 * k);
    }
    made.getContext("2d").putImageData(image, 0, 0);
    return made;
  };
}

function write(column, row) {
  const value = column.value(row);
  if (column.show) return column.show(row);
  if (isMissing(value)) return "";
  if (typeof value === "string") return value;
  return column.digits ? number(value, column.digits) : plain(value);
}

function columnsOf(data, task) {
  const cells = data.columns.map(({ name, numbers, texts, codes }) => {
    const values = unpack(numbers ?? codes);
    return numbers ? { name, value: (row) => values[row] } : { name, value: (row) => texts[values[row]], isText: true };
  });
  const picture = { name: "picture", value: (row) => row, isText: true, isPicture: true, isHidden: !data.pictures };
  if (data.pictures) picture.show = pictureMaker(data.pictures);
  return [picture, ...task.columns, ...cells].filter((column) => !column.isHidden);
}

function compare(x, y, sign = 1) {
  if (isMissing(x) || isMissing(y)) return isMissing(x) - isMissing(y); // missing values come last, whichever way
  return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : Number(x > y) - Number(x < y));
}

// Return what draws the rows that a test lets through, from the first page on.
function rowsTable(allRows, others, isShown) {
  const columns = [{ name: "row", value: (row) => row + 1 }, ...others];
  let [sort, sign, first] = [columns[0], 1, 0];

  function draw() {
    const found = allRows.filter(isShown);
    const values = [];
    for (const row of found) values[row] = sort.value(row);
    found.sort((a, b) => compare(values[a], values[b], sign) || a - b);
    const last = Math.min(found.length, first + ROWS_OF_A_PAGE);
    const cells = (row) => columns.map((column, k) => {
      const attributes = k ? { class: column.isText ? "text" : null } : { scope: "row" };
      return make(k ? "td" : "th", attributes, write(column, row));
    });
    const lines = found.slice(first, last).map((row) => make("tr", {}, ...cells(row)));
    byId("rows").tBodies[0].replaceChildren(...lines);
    byId("previous").disabled = first === 0;
    byId("next").disabled = last >= found.length;
    const which = found.length ? `, ${whole(first + 1)} to ${whole(last)} shown` : "";
    byId("found").textContent = `${whole(found.length)} of ${count(allRows.length, "row")}${which}.`;
    const direction = sign > 0 ? "ascending" : "descending";
    heads.forEach((head, k) => head.setAttribute("aria-sort", columns[k] === sort ? direction : "none"));
  }
  function go(to) {
    first = to;
    draw();
  }

  const heads = columns.map((column) => {
    const turn = () => {
      [sort, sign] = [column, sort === column ? -sign : 1];
      go(0);
    };
    return make("th", { scope: "col", class: column.isText ? "text" : null }, button({ class: "sort" }, turn, column.name));
  });
  byId("rows").tHead.append(make("tr", {}, ...heads));
  byId("previous").addEventListener("click", () => go(first - ROWS_OF_A_PAGE));
  byId("next").addEventListener("click", () => go(first + ROWS_OF_A_PAGE));
  return () => go(0);
}

// The rows with the smallest values, if values differ by more than rounding.
function drawCards(id, allRows, columns, value) {
  const values = value ? allRows.map(value) : [];
  const isFirst = (one) => one === values[0] || Math.abs(one / values[0] - 1) < 1e-9;
  byId(id).hidden = values.every(isFirst);
  const chosen = [...allRows].sort((a, b) => compare(values[a], values[b]) || a - b).slice(0, CARDS);
  const pair = (column, row) => make("span", { class: "pair" }, `${column.name} `, make("b", {}, write(column, row)));
  const cards = chosen.map((row) => {
    const parts = columns.map((column) => (column.isPicture ? column.show(row) : pair(column, row)));
    return make("li", {}, make("p", { class: "name" }, `Row ${row + 1}`), ...parts);
  });
  byId(id).querySelector("ul").replaceChildren(...cards);
}
