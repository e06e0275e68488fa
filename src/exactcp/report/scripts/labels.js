// Prediction sets at any level, from the p-values that the page carries.

function labelTask(data, facts) {
  const { classes, truth, best, shown } = data;
  const names = classes.concat(data.new);
  const width = classes.length;
  const { values, places } = data.p;
  const p = (row, label) => values[places[row * width + label]];
  const [first, second] = [new Float64Array(shown), new Float64Array(shown)];
  for (let row = 0; row < shown; row += 1) {
    let [high, next] = [-1, -1];
    for (let label = 0; label < width; label += 1) {
      const place = places[row * width + label];
      if (place > high) [high, next] = [place, high];
      else if (place > next) next = place;
    }
    first[row] = values[high];
    second[row] = next < 0 ? 0 : values[next];
  }
  const sizes = new Int32Array(shown);
  let least = 0; // the first place of a p-value that exceeds epsilon

  const task = {
    noun: "label",
    isIn: (row, label) => label < width && places[row * width + label] >= least,
    setOf: (row) => classes.filter((_, label) => task.isIn(row, label)),
    isCovered: (row) => (truth[row] < 0 ? null : task.isIn(row, truth[row])),
    name: (label) => (label < 0 ? "" : names[label]),

    move(stop) {
      const epsilon = data.epsilons[stop];
      let [low, high] = [0, values.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (values[middle] > epsilon) high = middle;
        else low = middle + 1;
      }
      least = low;
      for (let row = 0; row < shown; row += 1) {
        let size = 0;
        for (let at = row * width; at < (row + 1) * width; at += 1) if (places[at] >= least) size += 1;
        sizes[row] = size;
      }
    },

    // the numbers of all test rows, of each predictor
    numbers(stop, run = 0) {
      const counts = data.runs[run];
      return {
        covered: counts.covered && counts.covered[stop],
        coverage: counts.covered && counts.covered[stop] / facts.n_known,
        set_size: counts.labels[stop] / facts.n_test,
        alone: counts.alone[stop] / facts.n_test,
      };
    },
    written: { coverage: percent, set_size: (value) => number(value, 3), alone: percent },
    compared: { coverage: percent, set_size: (value) => number(value, 4) },
    say: (numbers) => number(numbers.set_size, 3) + " labels in a set",

    bars() {
      const counts = [];
      for (const size of sizes) counts[size] = (counts[size] || 0) + 1;
      const largest = Math.max(1, counts.length - 1);
      const shownSizes = Math.min(largest, 11);
      const found = [];
      for (let size = 0; size <= shownSizes; size += 1) {
        const isLast = size === shownSizes && largest > shownSizes;
        const n = isLast ? counts.slice(size).reduce((sum, more) => sum + (more || 0), 0) : counts[size] || 0;
        found.push({
          text: size + (isLast ? " or more" : ""),
          said: count(size, "label") + (isLast ? " or more" : ""),
          n,
          filter: { size: [size, isLast ? width : size] },
        });
      }
      return found;
    },

    // by true label: rows, rows covered, labels in all sets, sets that hold each label
    byLabel() {
      const found = new Map();
      for (let row = 0; row < shown; row += 1) {
        const label = truth[row];
        if (label < 0) continue;
        if (!found.has(label)) found.set(label, { n: 0, covered: 0, labels: 0, holds: new Array(width).fill(0) });
        const own = found.get(label);
        own.n += 1;
        own.labels += sizes[row];
        if (task.isIn(row, label)) own.covered += 1;
        for (let other = 0; other < width; other += 1) if (task.isIn(row, other)) own.holds[other] += 1;
      }
      return found;
    },

    filters: [
      { name: "truth", test: (row, wanted) => truth[row] === Number(wanted) },
      { name: "holds", test: (row, wanted) => task.isIn(row, Number(wanted)) },
      { name: "hit", test: (row, wanted) => task.isCovered(row) === (wanted === "1") },
      { name: "strange", test: (row, wanted) => first[row] <= Number(wanted) },
      { name: "size", test: (row, [from, to]) => sizes[row] >= from && sizes[row] <= to },
    ],

    columns: [
      { key: "truth", name: "truth", value: (row) => task.name(truth[row]), has: truth.some((label) => label >= 0) },
      { key: "set", name: "set", value: (row) => task.setOf(row).join("|"), show: (row) => chips(row) },
      { key: "size", name: "size", value: (row) => sizes[row] },
      { key: "label", name: "best", value: (row) => classes[best[row]] },
      { key: "confidence", name: "confidence", value: (row) => 1 - second[row], digits: 3 },
      { key: "credibility", name: "credibility", value: (row) => first[row], digits: 3 },
    ],
    // columns of the download alone
    more: classes.map((name, label) => ({ key: "p_" + name, value: (row) => p(row, label) })),
  };

  function chips(row) {
    const cell = make("span", { class: "chips" });
    const inside = classes.map((_, label) => label).filter((label) => task.isIn(row, label));
    const parts = inside.map((label) => make("span", { class: label === truth[row] ? "chip true" : "chip" }, classes[label]));
    if (!inside.length) parts.push(make("em", {}, "empty"));
    if (task.isCovered(row) === false) parts.push(make("span", { class: "miss" }, "missed"));
    parts.forEach((part, k) => cell.append(...(k ? [" ", part] : [part])));
    return cell;
  }

  return task;
}
