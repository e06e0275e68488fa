// The slider and the filters: the page is drawn again from the level and the rows that are left.

const LABEL_COLUMNS = 12;
const SHARES = ["coverage", "alone"];
const DIGITS = { set_size: 3, infinite: 9 };

function writeNumbers(data, stop) {
  const texts = { level: percent(data.levels[stop]), promised: percent(data.promised[stop]) };
  if (data.expected) [texts.low, texts.high] = data.expected[stop].map(percent);
  for (const place of document.querySelectorAll("[data-number]")) {
    const name = place.dataset.number;
    const value = data.runs[place.closest("[data-run]")?.dataset.run ?? 0][name]?.[stop];
    place.textContent = texts[name] ?? (SHARES.includes(name) ? percent(value) : number(value, DIGITS[name]));
  }
  for (const place of document.querySelectorAll("[data-verdict]")) place.hidden = place.dataset.verdict !== data.verdicts[stop];
  byId("level").setAttribute("aria-valuetext", texts.level);
}

// A bar is a button, which shows its rows.
function drawBars(bars, counts, isChosen, choose) {
  const most = Math.max(1, ...counts);
  const focused = [...byId("bars").querySelectorAll("button")].indexOf(document.activeElement);
  byId("bars").style.setProperty("--name", Math.max(2, ...bars.map(({ text }) => text.length)) + "ch");
  const buttons = bars.map((bar, k) => {
    const attributes = { class: "bar", "aria-label": `${bar.name}: ${count(counts[k], "row")}`, "aria-pressed": isChosen(bar) };
    const fill = make("span", { class: "bar-fill", style: `width:${(100 * counts[k]) / most}%` });
    const parts = [make("span", { class: "bar-name" }, bar.text), make("span", {}, fill), make("span", {}, whole(counts[k]))];
    return button(attributes, () => choose(bar), ...parts);
  });
  byId("bars").replaceChildren(...buttons.map((made) => make("li", {}, made)));
  if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)].focus();
}

function drawLabels(task, width, show) {
  const lines = task.byLabel().map(({ label, n, covered, labels, holds }) => {
    const attributes = { class: "sort", "aria-label": `Show the rows of ${task.names[label]}` };
    const name = button(attributes, () => show(label), task.names[label]);
    const cells = [whole(n), percent(covered / n), number(labels / n, 3)].map((text) => make("td", {}, text));
    const share = (k) => percent(Math.round((100 * k) / n) / 100);
    if (width <= LABEL_COLUMNS) {
      const kind = (other) => (other === label ? "holds own" : "holds");
      const cell = (k, other) => make("td", { class: kind(other), style: `--share:${k / n}` }, k ? share(k) : "\u00b7");
      cells.push(...holds.map(cell));
    } else {
      const others = [...holds.keys()].filter((other) => holds[other] && other !== label);
      others.sort((a, b) => holds[b] - holds[a] || a - b);
      const texts = others.slice(0, 3).map((other) => `${task.names[other]} ${share(holds[other])}`);
      cells.push(make("td", { class: "text" }, texts.join(", ")));
    }
    return make("tr", {}, make("th", { scope: "row" }, name, label < width ? "" : " (not in the training rows)"), ...cells);
  });
  byId("label-rows").replaceChildren(...lines);
}

function start() {
  const data = JSON.parse(byId("data").textContent);
  const task = (data.task === "label" ? labelTask : targetTask)(data);
  const allRows = Array.from({ length: data.shown }, (_, row) => row);
  const columns = columnsOf(data, task);
  const form = byId("filters");
  let [bin, wanted] = [null, []];
  const isInBin = (row, { from, to }) => task.size(row) >= from && !(task.size(row) >= to);
  const drawRows = rowsTable(allRows, columns, (row) =>
    (bin === null || isInBin(row, bin)) && wanted.every(([name, value]) => task.filters[name](row, value)));

  function filter() {
    wanted = [...new FormData(form)].filter(([, value]) => value !== "");
    drawRows();
  }
  function choose(next) {
    bin = next;
    const bars = task.bins();
    const counts = bars.map((bar) => allRows.filter((row) => isInBin(row, bar)).length);
    drawBars(bars, counts, (bar) => bar.text === bin?.text, (bar) => choose(bar.text === bin?.text ? null : bar));
    byId("bar-filter").hidden = bin === null;
    filter();
  }
  function showLabel(label) {
    form.elements.truth.value = label;
    filter();
    byId("explore").scrollIntoView();
  }
  function move(stop) {
    byId("level").value = stop;
    byId("level-back").disabled = stop === data.start;
    task.move(stop);
    writeNumbers(data, stop);
    if (byId("label-rows")) drawLabels(task, data.classes.length, showLabel);
    choose(data.task === "label" ? bin : null); // widths have other bins at another level
    drawCards("hardest", allRows, columns, (row) => -task.hard(row));
    drawCards("strangest", allRows, columns, task.strange);
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  byId("clear").addEventListener("click", () => (form.reset(), choose(null)));
  byId("level").max = data.levels.length - 1;
  byId("level").addEventListener("input", () => move(Number(byId("level").value)));
  byId("level-back").addEventListener("click", () => (move(data.start), byId("level").focus()));
  for (const place of document.querySelectorAll("[data-live]")) place.hidden = false;
  move(data.start);
}

start();
