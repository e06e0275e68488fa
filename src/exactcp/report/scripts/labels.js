// Prediction sets at any level, from the p-values of all labels.

const MOST_BARS = 11;

function labelTask(data) {
  const { classes, shown } = data;
  const [p, truth, best] = [unpack(data.p), unpack(data.truth), unpack(data.best)];
  const names = classes.concat(data.new);
  const width = classes.length;
  const sizes = new Int32Array(shown);
  const [largest, second] = [new Float64Array(shown), new Float64Array(shown)];
  for (let row = 0; row < shown; row += 1) {
    const own = p.slice(row * width, (row + 1) * width).sort();
    largest[row] = own[width - 1];
    second[row] = width > 1 ? own[width - 2] : 0;
  }
  let epsilon = 0;
  const isIn = (row, label) => label < width && p[row * width + label] > epsilon;
  const isCovered = (row) => (truth[row] < 0 ? null : isIn(row, truth[row]));
  const setOf = (row) => [...classes.keys()].filter((label) => isIn(row, label));
  function chips(row) {
    const chip = (label) => make("span", { class: label === truth[row] ? "chip true" : "chip" }, classes[label]);
    const parts = sizes[row] ? setOf(row).map(chip) : [make("em", {}, "empty")];
    if (isCovered(row) === false) parts.push(missed());
    return make("span", { class: "chips" }, ...parts.flatMap((part) => [part, " "]));
  }

  return {
    names,
    size: (row) => sizes[row],
    hard: (row) => sizes[row] + second[row],
    strange: (row) => largest[row],
    move(stop) {
      epsilon = data.epsilons[stop];
      sizes.fill(0);
      for (let k = 0; k < shown * width; k += 1) if (p[k] > epsilon) sizes[Math.floor(k / width)] += 1;
    },
    // a bin for each size; the last one may hold all larger ones
    bins() {
      const largestSize = sizes.reduce((a, b) => Math.max(a, b), 1);
      return Array.from({ length: Math.min(MOST_BARS, largestSize) + 1 }, (_, size) => {
        const more = size === MOST_BARS && largestSize > size ? " or more" : "";
        return { from: size, to: more ? Infinity : size + 1, text: size + more, name: count(size, "label") + more };
      });
    },
    // for each true label: rows, rows covered, labels in all sets, sets that hold each label
    byLabel() {
      const found = names.map((_, label) => ({ label, n: 0, covered: 0, labels: 0, holds: classes.map(() => 0) }));
      for (let row = 0; row < shown; row += 1) {
        if (truth[row] < 0) continue;
        const own = found[truth[row]];
        own.n += 1;
        own.labels += sizes[row];
        own.covered += Number(isCovered(row));
        for (let label = 0; label < width; label += 1) own.holds[label] += Number(isIn(row, label));
      }
      return found.filter(({ n }) => n > 0);
    },
    filters: {
      truth: (row, wanted) => truth[row] === Number(wanted),
      holds: (row, wanted) => isIn(row, Number(wanted)),
      hit: (row, wanted) => isCovered(row) === (wanted === "1"),
      strange: (row, wanted) => largest[row] <= Number(wanted),
    },
    columns: [
      { name: "truth", value: (row) => names[truth[row]] ?? "", isText: true, isHidden: !data.expected },
      { name: "set", value: (row) => setOf(row).map((label) => classes[label]).join("|"), show: chips, isText: true },
      { name: "size", value: (row) => sizes[row] },
      { name: "best", value: (row) => classes[best[row]] ?? "", isText: true },
      { name: "confidence", value: (row) => 1 - second[row], digits: 3 },
      { name: "credibility", value: (row) => largest[row], digits: 3 },
    ],
  };
}
