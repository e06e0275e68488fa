// What the page embeds, numbers as the page writes them without a script, and elements whose texts stay texts.

const TYPES = { f8: Float64Array, i4: Int32Array, u1: Uint8Array };

function unpack({ type, bytes }) {
  const text = atob(bytes);
  const raw = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k += 1) raw[k] = text.charCodeAt(k);
  return new TYPES[type](raw.buffer);
}

const isMissing = (value) => value === null || value === undefined || value === "" || Number.isNaN(value);

// as exactcp/_percent.py
function percent(value) {
  if (isMissing(value)) return "unknown";
  const isShort = Math.abs(1000 * value - Math.round(1000 * value)) <= 1e-9;
  const places = { minimumFractionDigits: 1, maximumFractionDigits: 1, roundingMode: "halfEven" };
  const short = (digits) => String(Number((100 * value).toPrecision(digits)));
  let text = isShort ? short(10) : (100 * value).toLocaleString("en-US", places);
  if (text === "0.0" || text === "100.0") text = [4, 6, 8].map(short).find((longer) => longer % 100) ?? text;
  return text + "\u00a0%";
}

// as exactcp/report/numbers.py
function number(value, digits = 4) {
  if (isMissing(value)) return "unknown";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-6 || size >= 1e15)) return String(Number(value.toPrecision(digits)));
  return value.toLocaleString("en-US", { maximumSignificantDigits: digits, roundingMode: "halfEven" });
}

// a cell of a table, without commas, since a year has none
const plain = (value) => String(Number.isInteger(value) ? value : Number(value.toPrecision(6)));
const whole = (value) => (isMissing(value) ? "unknown" : value.toLocaleString("en-US"));
const count = (n, noun) => `${whole(n)} ${noun}${n === 1 ? "" : "s"}`;
const byId = (id) => document.getElementById(id);
const missed = () => make("span", { class: "miss" }, "missed");

function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function button(attributes, act, ...children) {
  const made = make("button", { type: "button", ...attributes }, ...children);
  made.addEventListener("click", act);
  return made;
}
