// Prediction intervals at the levels at which they were computed.

const BINS = 10;

function targetTask(data, facts) {
  const { shown, truth, prediction } = data;
  const rowsOfTable = (table) => table && table.places.map((place) => table.values[place]);
  const pTrue = rowsOfTable(data.p);
  const strangeness = rowsOfTable(data.strangeness);
  const end = (value) => (value === null ? NaN : value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);
  const decimals = Math.max(0, data.decimals);
  const round = (value) => (Number.isFinite(value) ? Number(value.toFixed(Math.min(decimals, 100))) : value);
  let [lower, upper, widths, hits] = [[], [], [], null];

  const task = {
    noun: "target",
    lower: (row) => lower[row],
    upper: (row) => upper[row],
    isCovered: (row) => (truth[row] === null || hits === null ? null : hits[row] === "1"),

    move(stop) {
      lower = data.lower[stop].map(end);
      upper = data.upper[stop].map(end);
      widths = lower.map((low, row) => round(Number.isNaN(low) ? 0 : upper[row] - low));
      for (const [row, width] of data.widths[stop]) widths[row] = width;
      hits = data.covered && data.covered[stop];
    },

    numbers(stop, run = 0) {
      const told = data.runs[run][stop];
      if (told === null) return {};
      const covered = told.coverage === null ? null : Math.round(told.coverage * facts.n_known);
      return { covered, ...told };
    },
    written: { coverage: percent, mean_width: number, median_width: number, infinite: whole },
    compared: { coverage: percent, mean_width: number, median_width: number },
    say: (numbers) => "mean width " + number(numbers.mean_width),

    bars() {
      const finite = widths.filter(Number.isFinite);
      const infinite = widths.length - finite.length;
      const found = [];
      if (finite.length) {
        const low = finite.reduce((a, b) => Math.min(a, b));
        const high = finite.reduce((a, b) => Math.max(a, b));
        const n = high > low ? BINS : 1;
        const ends = Array.from({ length: n + 1 }, (_, k) => (k === n ? high : low + ((high - low) * k) / n));
        const counts = new Array(n).fill(0);
        const binOf = (width) => {
          let bin = n - 1;
          while (bin > 0 && width < ends[bin]) bin -= 1;
          return bin;
        };
        for (const width of finite) counts[binOf(width)] += 1;
        for (let bin = 0; bin < n; bin += 1) {
          const text = n === 1 ? number(low) : number(ends[bin]) + " to " + number(ends[bin + 1]);
          const size = [ends[bin], ends[bin + 1], bin === n - 1];
          found.push({ text, said: "width " + text, n: counts[bin], filter: { size } });
        }
      }
      if (infinite) {
        found.push({ text: "infinite", said: "infinite width", n: infinite, filter: { size: [Infinity, Infinity, true] } });
      }
      return found;
    },

    filters: [
      { name: "hit", test: (row, wanted) => task.isCovered(row) === (wanted === "1") },
      { name: "strange", test: (row, wanted) => strangeness[row] <= Number(wanted) },
      { name: "size", test: (row, [from, to, isClosed]) => widths[row] >= from && (widths[row] < to || (isClosed && widths[row] <= to)) },
    ],

    columns: [
      { key: "truth", name: "truth", value: (row) => truth[row], has: truth.some((value) => value !== null), digits: 6 },
      { key: "prediction", name: "prediction", value: (row) => prediction[row], digits: 6 },
      { key: "lower", name: "lower", value: (row) => lower[row], digits: 6 },
      { key: "upper", name: "upper", value: (row) => upper[row], digits: 6 },
      { key: "width", name: "width", value: (row) => widths[row], digits: 4 },
      {
        key: "covered", name: "truth inside", has: data.covered !== null,
        value: (row) => (task.isCovered(row) === null ? "" : task.isCovered(row) ? "yes" : "no"),
        show: (row) => make("span", task.isCovered(row) === false ? { class: "miss" } : {}, task.isCovered(row) === null ? "" : task.isCovered(row) ? "yes" : "missed"),
      },
      { key: "p", name: "p of the truth", value: (row) => (pTrue[row] < 0 ? null : pTrue[row]), has: pTrue !== null, digits: 3 },
      { key: "strangeness", name: "p of the object", value: (row) => strangeness[row], has: strangeness !== null, digits: 3 },
    ],
    more: [],
  };
  return task;
}
