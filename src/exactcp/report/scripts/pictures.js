// Pictures that move with the level. Their colours are those of the page, in light and dark.

const SMALL = { width: 340, height: 270, left: 48, right: 10, top: 10, bottom: 40 };
const NARROW = { width: 360, height: 300, left: 58, right: 8, top: 10, bottom: 40 };
const WIDE = { width: 680, height: 340, left: 64, right: 12, top: 12, bottom: 42 };

function scale(low, high, from, to) {
  const span = high > low ? high - low : 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

function ticks(low, high, about = 5) {
  const raw = (high - low || 1) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= raw);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k += 1) found.push(k === 0 ? 0 : k * step);
  return found;
}

// An empty plot with its axes; `x` and `y` are scales, `at` the ticks of each as pairs of a value and a text.
function axes(plot, x, y, at, names) {
  const { width, height, left, right, top, bottom } = plot;
  const made = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  made.append(draw("path", { class: "axis", d: `M${left},${top}V${height - bottom}H${width - right}` }));
  for (const [value, text] of at.x) {
    const place = { x: x(value), y: height - bottom + 16, "text-anchor": "middle" };
    made.append(draw("path", { class: "axis", d: `M${x(value)},${height - bottom}v4` }), draw("text", place, text));
  }
  for (const [value, text] of at.y) {
    const place = { x: left - 7, y: y(value) + 4, "text-anchor": "end" };
    made.append(draw("path", { class: "axis", d: `M${left},${y(value)}h-4` }), draw("text", place, text));
  }
  const middle = (height - bottom + top) / 2;
  made.append(
    draw("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, names.x),
    draw("text", { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, names.y),
  );
  return made;
}

const numberTicks = (low, high) => ticks(low, high).map((value) => [value, number(value, 6)]);

// Coverage against the level with the band of chance; returns what moves the mark.
function drawCalibration(place, data, facts) {
  const { width, height, left, right, top, bottom } = SMALL;
  const x = scale(0, 1, left, width - right);
  const y = scale(0, 1, height - bottom, top);
  const at = numberTicks(0, 1);
  const made = axes(SMALL, x, y, { x: at, y: at }, { x: "confidence level", y: "coverage" });
  const line = (values) => "M" + values.map(([a, b]) => `${x(a).toFixed(2)},${y(b).toFixed(2)}`).join("L");
  const { levels } = data;
  if (facts.band) {
    const ends = (side) => facts.band.map((counts, k) => [facts.calibration[0].levels[k], counts[side] / facts.n_known]);
    made.append(draw("path", { class: "band", d: line(ends(0).concat(ends(1).reverse())) + "Z" }));
  }
  made.append(draw("path", { class: "diagonal", d: line([[0, 0], [1, 1]]) }));
  facts.calibration.forEach((curve, which) => {
    const points = curve.levels.map((level, k) => [level, curve.coverages[k]]);
    made.append(draw("path", { class: "curve curve-" + which, d: line(points) }));
    const key = { x: x(0.84), y: height - bottom - 30 + 16 * which, "text-anchor": "end", class: "key-" + which };
    made.append(draw("text", key, curve.predictor + " CP"));
  });
  const across = draw("path", { class: "mark-line" });
  const dot = draw("circle", { class: "mark", r: 5 });
  made.append(across, dot);
  place.append(made);
  return (stop, coverage) => {
    const [a, b] = [x(levels[stop]), y(coverage)];
    across.setAttribute("d", `M${a},${height - bottom}V${top}`);
    dot.setAttribute("cx", a);
    dot.setAttribute("cy", b);
    made.setAttribute("aria-label", `Coverage against the confidence level: ${percent(coverage)} at ${percent(levels[stop])}.`);
  };
}

// A bar is a button, which shows its rows.
function drawBars(place, bars, chosen, choose) {
  const most = bars.reduce((largest, bar) => Math.max(largest, bar.n), 1);
  place.style.setProperty("--name", bars.reduce((longest, bar) => Math.max(longest, bar.text.length), 2) + "ch");
  const focused = Array.prototype.indexOf.call(place.querySelectorAll("button"), document.activeElement);
  place.replaceChildren(
    ...bars.map((bar) => {
      const isChosen = chosen !== null && String(chosen) === String(bar.filter.size);
      const label = `${bar.said}: ${count(bar.n, "row")}`;
      const made = button("", { class: "bar", "aria-label": label, "aria-pressed": String(isChosen) }, () =>
        choose(isChosen ? null : bar.filter.size),
      );
      const length = (100 * bar.n) / most;
      made.append(
        make("span", { class: "bar-name" }, bar.text),
        make("span", { class: "bar-room" }, make("span", { class: "bar-fill", style: `width:${length}%` })),
        make("span", { class: "bar-count" }, whole(bar.n)),
      );
      return make("li", {}, made);
    }),
  );
  if (focused >= 0 && bars.length) place.querySelectorAll("button")[Math.min(focused, bars.length - 1)].focus();
}

// Intervals of all rows against a column; missed truths have another colour and shape.
function drawIntervals(place, task, data, against) {
  const plot = place.clientWidth < 500 ? NARROW : WIDE;
  const { width, height, left, right, top, bottom } = plot;
  const { values, texts } = against;
  const rows = values.map((_, row) => row).filter((row) => values[row] !== null && !Number.isNaN(task.lower(row)));
  const extreme = (list, pick) => list.filter(Number.isFinite).reduce((a, b) => pick(a, b), list.find(Number.isFinite) ?? 0);
  const ys = rows.flatMap((row) => [task.lower(row), task.upper(row), data.truth[row] ?? NaN, data.prediction[row]]);
  const [low, high] = [extreme(ys, Math.min), extreme(ys, Math.max)];
  const xs = rows.map((row) => values[row]);
  const [start, stop] = texts ? [-0.6, texts.length - 0.4] : [extreme(xs, Math.min), extreme(xs, Math.max)];
  const x = scale(start, stop, left + 6, width - right - 6);
  const y = scale(low, high, height - bottom - 4, top + 4);
  const seen = new Map();
  const nth = (value) => (seen.set(value, (seen.get(value) ?? -1) + 1), seen.get(value));
  const totals = new Map();
  if (texts) for (const value of xs) totals.set(value, (totals.get(value) ?? 0) + 1);
  const [intervals, inside, outside] = [[], [], []];
  for (const row of rows) {
    const shift = texts ? (0.8 * (nth(values[row]) + 1)) / (totals.get(values[row]) + 1) - 0.4 : 0;
    const at = x(values[row] + shift).toFixed(1);
    const clipped = (value) => (value === Infinity ? top : value === -Infinity ? height - bottom : y(value)).toFixed(1);
    intervals.push(`M${at},${clipped(task.lower(row))}V${clipped(task.upper(row))}`);
    if (data.truth[row] === null) continue;
    const mark = y(data.truth[row]);
    if (task.isCovered(row)) inside.push(`M${at},${mark.toFixed(1)}h0`);
    else outside.push(`M${at - 3},${(mark - 3).toFixed(1)}l6,6m-6,0l6,-6`);
  }
  const atX = texts ? texts.map((text, k) => [k, text.length > 9 ? text.slice(0, 8) + "\u2026" : text]) : numberTicks(start, stop);
  const every = Math.ceil(atX.length / (plot === WIDE ? 8 : 4));
  const at = { x: atX.filter((_, k) => k % every === 0), y: numberTicks(low, high) };
  const made = axes(plot, x, y, at, { x: against.name, y: "target" });
  const density = rows.length > 1500 ? "dense" : "sparse";
  made.append(
    draw("path", { class: "interval " + density, d: intervals.join("") }),
    draw("path", { class: "inside " + density, d: inside.join("") }),
    draw("path", { class: "outside", d: outside.join("") }),
  );
  const missed = outside.length ? `, ${count(outside.length, "truth")} outside` : "";
  made.setAttribute("aria-label", `${count(rows.length, "interval")} against ${against.name}${missed}.`);
  place.replaceChildren(made);
}
