// Prediction intervals at the levels at which they were computed.

const BINS = 10;

function targetTask(data) {
  const { shown } = data;
  const [truth, prediction] = [unpack(data.truth), unpack(data.prediction)];
  const [lowers, uppers] = [unpack(data.lower), unpack(data.upper)];
  const [pTrue, pObject] = [data.p_true && unpack(data.p_true), data.p_object && unpack(data.p_object)];
  let [lower, upper, widths] = [];
  const isCovered = (row) => (Number.isNaN(truth[row]) ? null : lower[row] <= truth[row] && truth[row] <= upper[row]);
  const hit = (row) => ({ true: "yes", false: "missed" })[isCovered(row)] ?? "";
  const mark = (row) => (isCovered(row) === false ? missed() : hit(row));

  return {
    size: (row) => widths[row],
    hard: (row) => widths[row],
    strange: pObject && ((row) => pObject[row]),
    move(stop) {
      lower = lowers.subarray(stop * shown, (stop + 1) * shown);
      upper = uppers.subarray(stop * shown, (stop + 1) * shown);
      widths = lower.map((end, row) => (Number.isNaN(end) ? 0 : upper[row] - end)); // no end: an empty interval
    },
    // from the narrowest interval to the widest; infinite ones have a bin of their own
    bins() {
      const finite = widths.filter(Number.isFinite);
      const [low, high] = [Math.min, Math.max].map((pick) => finite.reduce((a, b) => pick(a, b), finite[0]));
      const n = finite.length && (high > low ? BINS : 1);
      const end = (k) => (k === n ? high : low + ((high - low) * k) / n);
      const found = Array.from({ length: n }, (_, k) => {
        const text = n === 1 ? number(low) : `${number(end(k))} to ${number(end(k + 1))}`;
        return { from: end(k), to: k === n - 1 ? Infinity : end(k + 1), text, name: `width ${text}` };
      });
      if (finite.length < shown) found.push({ from: Infinity, to: NaN, text: "infinite", name: "infinite width" });
      return found;
    },
    filters: {
      hit: (row, wanted) => isCovered(row) === (wanted === "1"),
      strange: (row, wanted) => pObject[row] <= Number(wanted),
    },
    columns: [
      { name: "truth", value: (row) => truth[row], digits: 6, isHidden: !data.expected },
      { name: "prediction", value: (row) => prediction[row], digits: 6 },
      { name: "lower", value: (row) => lower[row], digits: 6 },
      { name: "upper", value: (row) => upper[row], digits: 6 },
      { name: "width", value: (row) => widths[row], digits: 4 },
      { name: "truth inside", value: hit, show: mark, isHidden: !data.expected },
      { name: "p of the truth", value: (row) => pTrue[row], digits: 3, isHidden: !pTrue },
      { name: "p of the object", value: (row) => pObject[row], digits: 3, isHidden: !pObject },
    ],
  };
}
