// The rows of a timeline, each drawn into an SVG from `top` downwards. A row returns what the pointer may find in it:
// {bottom, tip(time_s, x), press(time_s, x)}.
import { clock, nearest, thin, ticks } from "./scale.js";

// Asked of the parser, so that a page searched for outside addresses holds none.
const NAMESPACE = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;
const CURVE_HEIGHT = 84;
const EVENTS_HEIGHT = 14;
const ARC_HEIGHT = 32;
const TRACK_HEIGHT = 36;
const ROLES = ["ground", "visual", "context", "refined"];
const ROLE_STEP = 13; // pixels between the sub-rows of a crowded lane
const REACH = 14; // pixels around a marker that still count as on it

export function svgElement(name, attributes = {}, parent = null) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

/** A role's own shape around (0, 0), for those who see no colour. */
export function markPath(role, r) {
  if (role === "ground") return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  if (role === "visual") return `M0 ${-1.25 * r}L${1.25 * r} 0L0 ${1.25 * r}L${-1.25 * r} 0z`;
  if (role === "refined") return `M0 ${-1.15 * r}L${1.15 * r} ${0.9 * r}L${-1.15 * r} ${0.9 * r}z`;
  const h = 0.85 * r;
  return `M${-h} ${-h}H${h}V${h}H${-h}z`;
}

const fixed = (number) => Math.round(number * 10) / 10;
const span = (item) => `${clock(item.start_s)} – ${clock(item.end_s)}`;

/** Items with start_s and end_s as bars of one path, each at least `least` pixels wide. */
export function bars(plot, items, y, height, least = 1) {
  return items
    .map((item) => {
      const from = fixed(plot.x(item.start_s));
      const width = Math.max(least, fixed(plot.x(item.end_s)) - from - 0.5);
      return `M${from} ${fixed(y)}h${fixed(width)}v${height}h${fixed(-width)}z`;
    })
    .join("");
}

export function drawCurve(plot, top) {
  const { curve, duration_s } = plot.data;
  const points = thin(curve.times_s, curve.relevance, duration_s, plot.width);
  let low = Infinity;
  let peak = points[0];
  for (const point of points) {
    low = Math.min(low, point.value);
    if (point.value > peak.value) peak = point;
  }
  const spread = peak.value - low || 1;
  const bottom = top + CURVE_HEIGHT;
  const y = (value) => fixed(bottom - 2 - ((value - low) / spread) * (CURVE_HEIGHT - 8));
  const line = points.map((point) => `${fixed(plot.x(point.time_s))} ${y(point.value)}`).join("L");
  const group = svgElement("g", { role: "img", class: "tl-curve" }, plot.svg);
  group.setAttribute("aria-label", `Relevance over time, highest at ${clock(peak.time_s)}`);
  const [first, last] = [plot.x(points[0].time_s), plot.x(points.at(-1).time_s)].map(fixed);
  svgElement("path", { class: "tl-area", d: `M${first} ${bottom}L${line}L${last} ${bottom}z` }, group);
  svgElement("path", { class: "tl-line", d: `M${line}` }, group);
  return {
    bottom,
    tip(time_s) {
      const k = nearest(curve.times_s, time_s);
      const value = curve.relevance[k];
      return Number.isFinite(value) ? { title: clock(curve.times_s[k]), text: `relevance ${value.toFixed(3)}` } : null;
    },
  };
}

/** One tab stop for many things on a row: arrow keys walk through them and the words of each are read and shown. */
function makeStepper(plot, group, key, label, items, middle, words, top, bottom) {
  let k = Math.min(plot.places.get(key) ?? 0, items.length - 1);
  for (const [name, value] of Object.entries({
    role: "slider",
    tabindex: 0,
    "data-key": key,
    "aria-label": label,
    "aria-valuemin": 1,
    "aria-valuemax": items.length,
  }))
    group.setAttribute(name, value);
  const set = () => {
    plot.places.set(key, k);
    const { title, text } = words(items[k]);
    group.setAttribute("aria-valuenow", k + 1);
    group.setAttribute("aria-valuetext", `${title}: ${text.slice(0, 400)}`);
  };
  const show = () => plot.focusOn(words(items[k]), plot.x(middle(items[k])), top, bottom);
  set();
  group.addEventListener("focus", () => group.matches(":focus-visible") && show());
  group.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    const ends = { Home: 0, End: items.length - 1 };
    if (event.key === "Enter") plot.seek?.(items[k].start_s ?? items[k].in_s);
    else if (event.key in steps) k = Math.max(0, Math.min(items.length - 1, k + steps[event.key]));
    else if (event.key in ends) k = ends[event.key];
    else return;
    event.preventDefault();
    set();
    show();
  });
}

const middleOf = (item) => (item.start_s + item.end_s) / 2;

/** The item that lasts at `time_s`, or the closest one within reach. Items ascend by start and may overlap. */
function itemAt(plot, items, time_s) {
  const reach_s = (4 / plot.width) * plot.data.duration_s;
  let best = null;
  let least = reach_s;
  for (const item of items) {
    if (item.start_s > time_s + reach_s) break;
    const away = item.end_s < time_s ? time_s - item.end_s : Math.max(0, item.start_s - time_s);
    if (away <= least) [best, least] = [item, away];
  }
  return best;
}

export function drawEvents(plot, top) {
  const events = [...plot.data.events].sort((a, b) => a.start_s - b.start_s);
  const group = svgElement("g", { class: "tl-events" }, plot.svg);
  svgElement("path", { d: bars(plot, events, top, EVENTS_HEIGHT) }, group);
  const words = (event) => ({ title: span(event), text: event.text, lit: { item: event, y: top, height: EVENTS_HEIGHT } });
  const bottom = top + EVENTS_HEIGHT;
  makeStepper(plot, group, "events", "Words, by arrow keys", events, middleOf, words, top, bottom);
  return {
    bottom,
    tip(time_s) {
      const event = itemAt(plot, events, time_s);
      return event && words(event);
    },
  };
}

function drawSwaps(plot, lane, top, track, y) {
  const group = svgElement("g", { class: "tl-swaps" }, plot.svg);
  for (const swap of lane.swaps) {
    const [from, to] = [fixed(plot.x(swap.out_s)), fixed(plot.x(swap.in_s))];
    const rise = Math.min(track - top, 12 + Math.abs(to - from) / 6) * 1.6;
    const [middle, peak] = [fixed((from + to) / 2), fixed(track - rise)];
    const end = track - 3;
    svgElement("path", { class: "tl-arc", d: `M${from} ${track}Q${middle} ${peak} ${to} ${end}` }, group);
    const turn = fixed((Math.atan2(end - peak, to - middle) * 180) / Math.PI);
    svgElement("path", { class: "tl-head", d: "M1 0L-7 -3.5L-7 3.5z", transform: `translate(${to} ${end}) rotate(${turn})` }, group);
    svgElement("circle", { class: "tl-out", cx: from, cy: y, r: 4.5 }, group);
  }
  const words = (swap) => ({ title: `${clock(swap.out_s)} gave way to ${clock(swap.in_s)}`, text: swap.note });
  const middle = (swap) => (swap.out_s + swap.in_s) / 2;
  makeStepper(plot, group, `swaps ${lane.key}`, `${lane.name}: swaps, by arrow keys`, lane.swaps, middle, words, top, track);
  return (time_s, x) => {
    const near = (swap) => Math.min(Math.abs(plot.x(swap.out_s) - x), Math.abs(plot.x(middle(swap)) - x));
    const swap = lane.swaps.reduce((best, other) => (near(other) < near(best) ? other : best));
    return near(swap) <= REACH ? words(swap) : null;
  };
}

function drawMarkers(plot, lane, frames, yOf, crowded) {
  const group = svgElement("g", { role: "group", class: "tl-markers" }, plot.svg);
  group.setAttribute("aria-label", `${lane.name}: chosen frames, by arrow keys`);
  const r = crowded ? 4 : 7;
  const held = plot.places.get(lane.key);
  const active = frames.some((frame) => frame.id === held) ? held : frames[0]?.id;
  for (const frame of frames) {
    const marker = svgElement("g", { role: "button", class: `tl-marker role-${frame.role}` }, group);
    marker.setAttribute("transform", `translate(${fixed(plot.x(frame.time_s))} ${fixed(yOf(frame))})`);
    marker.setAttribute("tabindex", frame.id === active ? 0 : -1);
    marker.setAttribute("aria-label", `Frame ${frame.number}, ${clock(frame.time_s)}, ${frame.role}`);
    marker.dataset.key = frame.id;
    marker.dataset.frame = frame.id;
    marker.dataset.lane = lane.key;
    svgElement("circle", { class: "tl-ring", r: r + 4 }, marker);
    svgElement("path", { d: markPath(frame.role, r) }, marker);
  }
}

export function drawLane(plot, lane, top) {
  const track = top + (lane.swaps.length ? ARC_HEIGHT : 0);
  const frames = [...lane.frames].sort((a, b) => a.time_s - b.time_s);
  // Where many markers would cover one another, they are small and each role gets a row of its own.
  const close = frames.filter((frame, k) => k && plot.x(frame.time_s) - plot.x(frames[k - 1].time_s) < 9);
  const crowded = close.length > frames.length / 4;
  const roles = ROLES.filter((role) => frames.some((frame) => frame.role === role));
  const height = crowded ? Math.max(TRACK_HEIGHT, 2 * ROLE_STEP + roles.length * ROLE_STEP) : TRACK_HEIGHT;
  const bottom = track + height;
  const y = crowded ? bottom - ROLE_STEP / 2 - 2 : track + height / 2;
  const yOf = (frame) => (crowded ? track + ROLE_STEP * (roles.indexOf(frame.role) + 0.75) : y);
  const left = svgElement("g", { class: "tl-omitted" }, plot.svg);
  const note = (stretch) => ({
    title: `left out: ${span(stretch)}`,
    text: stretch.note,
    lit: { item: stretch, y: y - 3, height: 6 },
  });
  const omitted = [...lane.omitted].sort((a, b) => a.start_s - b.start_s);
  if (omitted.length) {
    svgElement("path", { d: bars(plot, omitted, y - 3, 6) }, left);
    const label = `${lane.name}: stretches left out, by arrow keys`;
    makeStepper(plot, left, `omitted ${lane.key}`, label, omitted, middleOf, note, track, bottom);
  } else svgElement("path", { d: `M${plot.x(0)} ${y - 0.5}H${plot.x(plot.data.duration_s)}v1H${plot.x(0)}z` }, left);
  const swapAt = lane.swaps.length ? drawSwaps(plot, lane, top, track, y) : () => null;
  drawMarkers(plot, lane, frames, yOf, crowded);
  const frameAt = (x, pointer_y) => {
    let best = null;
    let least = REACH;
    for (const frame of frames) {
      const away = Math.hypot(plot.x(frame.time_s) - x, yOf(frame) - pointer_y);
      if (away < least) [best, least] = [frame, away];
    }
    return best;
  };
  return {
    bottom,
    tip(time_s, x, pointer_y) {
      if (pointer_y < track) return swapAt(time_s, x);
      const frame = frameAt(x, pointer_y);
      if (frame) return frameTip(frame);
      const stretch = itemAt(plot, omitted, time_s);
      return stretch && note(stretch);
    },
    press: (time_s, x, pointer_y) => (pointer_y < track ? null : frameAt(x, pointer_y)),
  };
}

export function frameTip(frame) {
  const title = `Frame ${frame.number} · ${clock(frame.time_s)} · ${frame.role}`;
  return { title, text: frame.text ?? "", picture: frame.picture };
}

export function drawAxis(plot, top) {
  const group = svgElement("g", { class: "tl-axis", "aria-hidden": "true" }, plot.svg);
  const { duration_s } = plot.data;
  svgElement("path", { d: `M${fixed(plot.x(0))} ${top}H${fixed(plot.x(duration_s))}` }, group);
  for (const time_s of ticks(duration_s, plot.width)) {
    const x = fixed(plot.x(time_s));
    svgElement("path", { d: `M${x} ${top}v5` }, group);
    // The ends are set flush, so that no label is cut off.
    const anchor = x < 30 ? "start" : x > plot.outer - 30 ? "end" : "middle";
    const at = anchor === "end" ? plot.outer : x;
    svgElement("text", { x: at, y: top + 19, "text-anchor": anchor }, group).textContent = clock(time_s);
  }
  return { bottom: top + 24 };
}
