// Time axis: clock texts, tick positions, and thinning a curve without losing its peaks.
//
// The scripts of the report share functions through the global object `framesift`: a page opened from disk can't import.

let videos = []; // of a joint timeline: {name, start_s}; times on it are shown as those in a video, after its name

/** Set the videos of the page, in order: all times are on their joint timeline. */
function setVideos(list) {
  videos = list.length > 1 ? list : [];
}

/** 201.48 -> "0:03:21"; always h:mm:ss, so that the times of one page align. */
function clock(time_s) {
  const video = videos.findLast(({ start_s }) => time_s >= start_s);
  return video ? `${video.name} ${hms(time_s - video.start_s)}` : hms(time_s);
}

function hms(time_s) {
  const seconds = Math.max(0, Math.floor(time_s + 1e-6));
  const pad = (n) => String(n).padStart(2, "0");
  return `${Math.floor(seconds / 3600)}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}`;
}

/** 0.4 -> "0.4 s", 201.48 -> "0:03:21": a duration, in seconds where a clock would show almost nothing. */
function lengthText(duration_s) {
  return duration_s > 0 && duration_s < 9.95 ? `${+duration_s.toPrecision(2)} s` : clock(duration_s);
}

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** Tick times from `from_s` to `to_s`: the finest step whose labels, `labelWidth` pixels each, do not overlap. */
function ticks(from_s, to_s, width, labelWidth = 76) {
  const span_s = to_s - from_s;
  const maxTicks = Math.max(1, Math.floor(width / labelWidth));
  const step = STEPS_S.find((one) => span_s / one <= maxTicks) ?? 86400 * Math.ceil(span_s / 86400 / maxTicks);
  const times = [];
  for (let k = Math.ceil(from_s / step); k * step <= to_s; k += 1) times.push(k * step);
  return times;
}

/** The point of the line from `a` to `b` at a time between them. */
const between = (a, b, time_s) => ({
  time_s,
  value: a.value + ((b.value - a.value) * (time_s - a.time_s)) / (b.time_s - a.time_s),
});

/**
 * Reduce the part of a curve from `from_s` to `to_s` to `width` pixel columns: of a column with more than two points the
 * lowest and the highest are kept, in their order. Points that are not finite are skipped.
 */
function thin(times_s, values, from_s, to_s, width) {
  const points = [];
  let column = null;
  let low = null;
  let high = null;
  const closeColumn = () => {
    if (low === null) return;
    if (low === high) points.push(low);
    else if (low.time_s < high.time_s) points.push(low, high);
    else points.push(high, low);
  };
  const last = Math.min(times_s.length - 1, lowerBound(times_s, to_s));
  for (let k = Math.max(0, lowerBound(times_s, from_s) - 1); k <= last; k += 1) {
    const value = values[k];
    if (!Number.isFinite(value) || !Number.isFinite(times_s[k])) continue;
    const point = { time_s: times_s[k], value };
    const pointColumn = Math.floor(((times_s[k] - from_s) / (to_s - from_s)) * width);
    if (pointColumn !== column) {
      closeColumn();
      column = pointColumn;
      low = point;
      high = point;
    } else {
      if (value < low.value) low = point;
      if (value > high.value) high = point;
    }
  }
  closeColumn();
  // The line is cut where it enters and leaves the part.
  const [a, b] = points;
  if (b && a.time_s < from_s && b.time_s > from_s) points[0] = between(a, b, from_s);
  const [c, d] = points.slice(-2);
  if (d && d.time_s > to_s && c.time_s < to_s) points[points.length - 1] = between(c, d, to_s);
  return points.filter(({ time_s }) => time_s >= from_s && time_s <= to_s);
}

/** The position of the first item whose `key(item)` is at least `value`. Items ascend by key. */
function lowerBound(items, value, key = (item) => item) {
  let from = 0;
  let to = items.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (key(items[middle]) < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The position of the item whose `key(item)` is closest to `value`, -1 if there is none. Items ascend by key. */
function nearest(items, value, key = (item) => item) {
  const from = lowerBound(items, value, key);
  if (from === 0) return items.length ? 0 : -1;
  if (from === items.length) return from - 1;
  return value - key(items[from - 1]) <= key(items[from]) - value ? from - 1 : from;
}

globalThis.framesift = { clock, setVideos, lengthText, ticks, thin, nearest };
