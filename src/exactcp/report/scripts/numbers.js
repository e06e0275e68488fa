// Numbers as the page writes them without a script: exactcp/report/numbers.py, exactcp/_percent.py.

const UNKNOWN = "unknown";
const ONE_DECIMAL = { minimumFractionDigits: 1, maximumFractionDigits: 1, roundingMode: "halfEven" };

function percent(value) {
  if (value === null || value === undefined) return UNKNOWN;
  const thousandths = 1000 * value;
  const isShort = Math.abs(thousandths - Math.round(thousandths)) <= 1e-9;
  let text = isShort ? String(Number((100 * value).toPrecision(10))) : (100 * value).toLocaleString("en-US", ONE_DECIMAL);
  if (text === "0.0" || text === "100.0") {
    text = [4, 6, 8].map((digits) => String(Number((100 * value).toPrecision(digits)))).find((short) => short % 100) ?? text;
  }
  return text + "\u00a0%";
}

function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return UNKNOWN;
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-6 || size >= 1e15)) return String(Number(value.toPrecision(digits)));
  return value.toLocaleString("en-US", { maximumSignificantDigits: digits, roundingMode: "halfEven" });
}

function whole(value) {
  return value.toLocaleString("en-US");
}

function count(n, noun) {
  return whole(n) + " " + noun + (n === 1 ? "" : "s");
}

// What coverage to expect is carried in rows covered, so that whole numbers are compared.
function judge(covered, expected) {
  if (covered === null || expected === null) return null;
  if (covered < expected[0]) return "below";
  return covered > expected[1] ? "above" : "as promised";
}
