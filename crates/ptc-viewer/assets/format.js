// Numbers, sizes and times as people read them.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const number = (value) => (value < 100_000 ? whole.format(value) : short.format(value));
export const exact = (value) => whole.format(value);

export function size(bytes) {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ["kB", "MB", "GB"];
  let at = -1;
  let left = bytes;
  while (left >= 1_000 && at < units.length - 1) {
    left /= 1_000;
    at += 1;
  }
  return `${left < 10 ? left.toFixed(1) : Math.round(left)} ${units[at]}`;
}

export function duration(ms) {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} m ${Math.round((ms % 60_000) / 1_000)} s`;
  if (minutes < 2_880) return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
  return `${short.format(Math.floor(minutes / 1_440))} d`;
}

export function ago(ms, now = Date.now()) {
  const seconds = Math.max(0, (now - ms) / 1_000);
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  if (seconds < 86_400 * 14) return `${Math.floor(seconds / 86_400)} d ago`;
  return new Date(ms).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}

/** Dollars, with as many digits as tell small ones apart. */
export const dollars = (value) => `$${value === 0 ? "0" : value < 0.01 ? value.toFixed(5) : value < 1 ? value.toFixed(4) : value.toFixed(2)}`;

export const moment = (ms) => new Date(ms).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });

export const plural = (count, one) => `${number(count)} ${one}${count === 1 ? "" : "s"}`;
