// The slider moves everything: each part takes the new level from here.

function start() {
  const { facts, script: data } = JSON.parse(byId("data").textContent);
  const task = facts.task === "classification" ? labelTask(data, facts) : targetTask(data, facts);
  let stop = data.asked;
  const rows = rowsTable(task, data, () => data.levels[stop]);
  const slider = byId("level");
  const moveMark = facts.calibration.length ? drawCalibration(reveal("live-calibration"), data, facts) : null;
  const barPlace = reveal("live-sizes").querySelector("ul");

  function reveal(id) {
    const found = byId(id);
    found.hidden = false;
    const still = found.parentElement.querySelector("img");
    if (still) still.hidden = true;
    return found;
  }

  function writeNumbers(numbers) {
    const written = { level: percent(data.levels[stop]) };
    for (const [name, write] of Object.entries(task.written)) written[name] = write(numbers[name] ?? null);
    if (data.promised) written.promised = percent(data.promised[stop]);
    if (data.expected) {
      written.low = percent(data.expected[stop][0] / facts.n_known);
      written.high = percent(data.expected[stop][1] / facts.n_known);
    }
    for (const place of document.querySelectorAll("[data-number]")) {
      if (place.dataset.number in written) place.textContent = written[place.dataset.number];
    }
    slider.setAttribute("aria-valuetext", written.level);
    const coverage = numbers.coverage === null ? "" : `coverage ${written.coverage}, `;
    byId("said").textContent = `At ${written.level}: ${coverage}${task.say(numbers)}.`;
  }

  function writeVerdict(covered) {
    const verdict = judge(covered, data.expected && data.expected[stop]);
    for (const place of document.querySelectorAll("[data-verdict]")) place.hidden = place.dataset.verdict !== verdict;
  }

  function writeComparison() {
    document.querySelectorAll("#comparison-rows tr").forEach((line, run) => {
      const numbers = task.numbers(stop, run);
      for (const [name, write] of Object.entries(task.compared)) {
        const place = line.querySelector(`[data-compared="${name}"]`);
        if (place) place.textContent = write(numbers[name] ?? null);
      }
    });
  }

  function writeLabels() {
    const table = byId("label-rows");
    if (!table) return;
    const byLabel = task.byLabel();
    for (const line of table.rows) {
      const own = byLabel.get(Number(line.dataset.label));
      line.hidden = own === undefined;
      if (own === undefined) continue;
      const [n, coverage, size, ...others] = [...line.cells].slice(1);
      n.textContent = whole(own.n);
      coverage.textContent = percent(own.covered / own.n);
      size.textContent = number(own.labels / own.n, 3);
      if (others.length === own.holds.length) others.forEach((cell, label) => writeShare(cell, own.holds[label] / own.n));
      else others[0].textContent = beside(Number(line.dataset.label), own);
    }
  }

  // where there are too many labels for a column each: those that are in the sets of a label's rows most often
  function beside(label, own) {
    const others = own.holds.map((n, other) => [n, other]).filter(([n, other]) => n > 0 && other !== label);
    others.sort(([n, a], [m, b]) => m - n || a - b);
    return others.slice(0, 3).map(([n, other]) => `${task.name(other)} ${percent(Math.round((100 * n) / own.n) / 100)}`).join(", ");
  }

  function writeShare(cell, share) {
    cell.textContent = share === 0 ? "\u00b7" : percent(Math.round(100 * share) / 100);
    cell.style.setProperty("--share", share);
  }

  function writeBars() {
    drawBars(barPlace, task.bars(), rows.state.filters.size ?? null, (size) => {
      rows.state.filters.size = size;
      writeBars();
      rows.restart();
      if (size !== null) byId("explore").scrollIntoView({ block: "start" });
    });
    byId("bar-filter").hidden = (rows.state.filters.size ?? null) === null;
  }

  function move(next) {
    stop = next;
    slider.value = stop;
    byId("level-back").disabled = stop === data.asked;
    task.move(stop);
    const numbers = task.numbers(stop);
    writeNumbers(numbers);
    writeVerdict(numbers.covered ?? null);
    if (moveMark) moveMark(stop, numbers.coverage);
    writeComparison();
    if (task.byLabel) writeLabels();
    else rows.state.filters.size = null; // widths have other bars at another level
    writeBars();
    rows.update();
    for (const after of afterwards) after();
  }

  const afterwards = [];
  if (byId("against")) afterwards.push(intervalsPicture(task, data));
  fillFilters(task, data, facts, rows, writeBars);
  labelButtons(rows);
  slider.max = data.levels.length - 1;
  slider.addEventListener("input", () => move(Number(slider.value)));
  byId("level-back").addEventListener("click", () => (move(data.asked), slider.focus()));
  byId("controls").hidden = data.levels.length < 2;
  byId("explore").hidden = false;
  document.documentElement.classList.add("live");
  move(data.asked);
}

// Selects and numbers of the form narrow the rows as they change.
function fillFilters(task, data, facts, rows, writeBars) {
  const form = byId("filters");
  const { truth, holds } = form.elements;
  const names = facts.task === "classification" ? data.classes.concat(data.new) : [];
  if (truth) {
    const seen = new Set(data.truth);
    names.forEach((name, label) => seen.has(label) && truth.append(option(label, name)));
    if (seen.has(-1)) truth.append(option(-1, "not known"));
  }
  if (holds) data.classes.forEach((name, label) => holds.append(option(label, name)));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    rows.state.filters[event.target.name] = event.target.value;
    rows.restart();
  });
  byId("clear").addEventListener("click", () => {
    form.reset();
    rows.state.filters = {};
    writeBars();
    rows.restart();
  });
}

// A label of the table by label shows its rows.
function labelButtons(rows) {
  const table = byId("label-rows");
  if (!table) return;
  for (const line of table.rows) {
    const [head] = line.cells;
    const text = head.textContent;
    head.replaceChildren(
      button(text, { class: "sort", "aria-label": `Show the rows of ${text}` }, () => {
        const { truth } = byId("filters").elements;
        truth.value = line.dataset.label;
        truth.dispatchEvent(new Event("input", { bubbles: true }));
        byId("explore").scrollIntoView({ block: "start" });
      }),
    );
  }
}

function intervalsPicture(task, data) {
  const select = byId("against");
  const numbered = { name: "row", values: data.truth.map((_, row) => row + 1) };
  const choices = [{ name: "prediction", values: data.prediction }, numbered];
  for (const column of data.columns) {
    if (column.numbers) choices.push({ name: column.name, values: column.numbers });
    else if (column.texts.length <= 30) choices.push({ name: column.name, values: column.places, texts: column.texts });
  }
  choices.forEach((choice, k) => select.append(option(k, choice.name)));
  const redraw = () => drawIntervals(byId("intervals"), task, data, choices[select.value]);
  select.addEventListener("change", redraw);
  byId("against-section").hidden = false;
  return redraw;
}

start();
