// What a time axis needs to know: clocks, sensible ticks, and a curve thinned without losing its peaks.

/** 201.48 -> "0:03:21"; always h:mm:ss, so that clocks of one page line up. */
export function clock(time_s) {
  const whole = Math.max(0, Math.floor(time_s + 1e-6));
  const two = (n) => String(n).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** Times for the axis labels: the finest step whose labels, `room` pixels each, do not touch. */
export function ticks(duration_s, width, room = 76) {
  const most = Math.max(1, Math.floor(width / room));
  const wanted = STEPS_S.find((step) => duration_s / step <= most);
  const step = wanted ?? 86400 * Math.ceil(duration_s / 86400 / most);
  const times = [];
  for (let k = 0; k * step <= duration_s; k += 1) times.push(k * step);
  return times;
}

/**
 * A curve for `width` pixel columns: where a column holds more than two points, its lowest and its highest stay, in the
 * order they came, so that no peak is lost. Points that are no numbers are left out.
 */
export function thin(times_s, values, duration_s, width) {
  const kept = [];
  let column = -1;
  let low = null;
  let high = null;
  const close = () => {
    if (low === null) return;
    if (low === high) kept.push(low);
    else if (low.time_s < high.time_s) kept.push(low, high);
    else kept.push(high, low);
  };
  for (let k = 0; k < times_s.length; k += 1) {
    const value = values[k];
    if (!Number.isFinite(value) || !Number.isFinite(times_s[k])) continue;
    const point = { time_s: times_s[k], value };
    const here = Math.floor((times_s[k] / duration_s) * width);
    if (here !== column) {
      close();
      column = here;
      low = point;
      high = point;
    } else {
      if (value < low.value) low = point;
      if (value > high.value) high = point;
    }
  }
  close();
  return kept;
}

/** The place of the item whose `at(item)` is closest to `value`, -1 when there is none. Items ascend. */
export function nearest(items, value, at = (item) => item) {
  let from = 0;
  let to = items.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (at(items[middle]) < value) from = middle + 1;
    else to = middle;
  }
  if (from === 0) return items.length ? 0 : -1;
  if (from === items.length) return from - 1;
  return value - at(items[from - 1]) <= at(items[from]) - value ? from - 1 : from;
}
