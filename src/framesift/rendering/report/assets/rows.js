// The rows of a timeline, each drawn into an SVG from `top` downwards. Each drawing function returns the row's hit tests:
// {bottom, tipAt(time_s, x, y), frameAt(time_s, x, y)}. `plot` has the part of the video that is visible as `range`;
// plot.x(time_s) is at its edge for a time outside.
const { clock, nearest, thin, ticks } = globalThis.framesift;

// Taken from the parser, so that the report contains no URL of another site.
const NAMESPACE = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;
const CURVE_HEIGHT = 84;
const EVENTS_HEIGHT = 14;
const ARC_HEIGHT = 32;
const TRACK_HEIGHT = 36;
// What a role is called where people read it.
const ROLE_NAMES = { ground: "text", visual: "picture", context: "between", refined: "added" };
const ROLES = Object.keys(ROLE_NAMES);
const ROLE_STEP = 13; // pixels between the sub-rows of a crowded lane
const HIT_RADIUS = 14; // pixels around a marker that count as on it
const TOP_OF_SCALE = 2; // of the relevance curve, in levels of chance

function svgElement(name, attributes = {}, parent = null) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

/** The outline of a role's marker around (0, 0); shapes differ so that colour is not needed to tell roles apart. */
function markerPath(role, r) {
  if (role === "ground") return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  if (role === "visual") return `M0 ${-1.25 * r}L${1.25 * r} 0L0 ${1.25 * r}L${-1.25 * r} 0z`;
  if (role === "refined") return `M0 ${-1.15 * r}L${1.15 * r} ${0.9 * r}L${-1.15 * r} ${0.9 * r}z`;
  const h = 0.85 * r;
  return `M${-h} ${-h}H${h}V${h}H${-h}z`;
}

const roleName = (role) => ROLE_NAMES[role] ?? role;
const round = (number) => Math.round(number * 10) / 10;
const span = (item) => `${clock(item.start_s)} – ${clock(item.end_s)}`;

/** Items with start_s and end_s as bars of one path, each at least `minWidth` pixels wide. */
function bars(plot, items, y, height, minWidth = 1) {
  return items
    .filter(({ start_s, end_s }) => end_s >= plot.range.from_s && start_s <= plot.range.to_s)
    .map((item) => {
      const from = round(plot.x(item.start_s));
      const width = Math.max(minWidth, round(plot.x(item.end_s)) - from - 0.5);
      return `M${from} ${round(y)}h${round(width)}v${height}h${round(-width)}z`;
    })
    .join("");
}

/** The points of each video of a joint timeline, those of a single video in one list. */
function partsByVideo(plot, points) {
  const starts = (plot.data.videos ?? []).map(({ start_s }) => start_s);
  const parts = new Map();
  for (const point of points) {
    const video = starts.findLastIndex((start_s) => point.time_s >= start_s);
    if (!parts.has(video)) parts.set(video, []);
    parts.get(video).push(point);
  }
  return parts.values();
}

/** The scale of the relevance curve: the values at its bottom and top, and that of chance if it is known. */
function scaleOf({ chance, relevance }) {
  // With the level of chance the scale is the video's own, whatever the question.
  if (chance) return { floor: chance[0], level: chance[1], top: chance[0] + TOP_OF_SCALE * (chance[1] - chance[0]) };
  const finite = relevance.filter(Number.isFinite);
  const [floor, top] = [Math.min, Math.max].map((better) => finite.reduce((a, b) => better(a, b), finite[0]));
  return { floor, level: null, top };
}

/** Triangles at the top of the scale, where the curve is cut off; close ones are one. */
function drawCutOff(plot, group, points, top) {
  let last = Number.NEGATIVE_INFINITY;
  for (const { time_s } of points) {
    const x = round(plot.x(time_s));
    if (x < last + 10) continue;
    last = x;
    svgElement("path", { class: "tl-over", d: `M${x} ${top - 5}l4 5h-8z` }, group);
  }
}

function drawCurve(plot, top) {
  const { curve, duration_s } = plot.data;
  const { from_s, to_s } = plot.range;
  const points = thin(curve.times_s, curve.relevance, from_s, to_s, plot.width);
  const scale = scaleOf(curve);
  const peak = curve.relevance.reduce((best, value, k) => (value > (curve.relevance[best] ?? -Infinity) ? k : best), 0);
  const bottom = top + CURVE_HEIGHT;
  const share = (value) => Math.max(0, Math.min(1, (value - scale.floor) / (scale.top - scale.floor || 1)));
  const y = (value) => round(bottom - 2 - share(value) * (CURVE_HEIGHT - 8));
  const group = svgElement("g", { role: "img", class: "tl-curve" }, plot.svg);
  group.setAttribute("aria-label", `Relevance over time, highest at ${clock(curve.times_s[peak])}`);
  for (const part of partsByVideo(plot, points)) {
    const line = part.map((point) => `${round(plot.x(point.time_s))} ${y(point.value)}`).join("L");
    const [first, last] = [plot.x(part[0].time_s), plot.x(part.at(-1).time_s)].map(round);
    svgElement("path", { class: "tl-area", d: `M${first} ${bottom}L${line}L${last} ${bottom}z` }, group);
    svgElement("path", { class: "tl-line", d: `M${line}` }, group);
  }
  const cutOff = points.filter(({ value }) => scale.level !== null && value > scale.top);
  drawCutOff(plot, group, cutOff, y(scale.top));
  if (scale.level !== null) {
    const [first, last] = [plot.x(0), plot.x(duration_s)].map(round);
    const line = y(scale.level);
    svgElement("path", { class: "tl-chance", d: `M${first} ${line}H${last}` }, group);
    svgElement("text", { class: "tl-chance-label", x: last, y: line - 3, "text-anchor": "end" }, group).textContent =
      "chance";
  }
  return {
    bottom,
    tipAt(time_s) {
      const k = nearest(curve.times_s, time_s);
      const value = curve.relevance[k];
      if (!Number.isFinite(value)) return null;
      const { level, top: end } = scale;
      const beside = level === null ? "" : `, ${value > level ? "above" : "not above"} chance (${level.toFixed(3)})`;
      const over = level !== null && value > end ? `, above the end of the scale (${end.toFixed(3)})` : "";
      return { title: clock(curve.times_s[k]), text: `relevance ${value.toFixed(3)}${beside}${over}` };
    },
  };
}

/** Makes a row one tab stop: arrow keys step through its items, and the text of each is announced and shown. */
function makeStepper(plot, group, key, label, items, middle, tipOf, top, bottom) {
  let k = Math.min(plot.positions.get(key) ?? 0, items.length - 1);
  for (const [name, value] of Object.entries({
    role: "slider",
    tabindex: 0,
    "data-key": key,
    "aria-label": label,
    "aria-valuemin": 1,
    "aria-valuemax": items.length,
  }))
    group.setAttribute(name, value);
  const announce = () => {
    plot.positions.set(key, k);
    const { title, text } = tipOf(items[k]);
    group.setAttribute("aria-valuenow", k + 1);
    group.setAttribute("aria-valuetext", `${title}: ${text.slice(0, 400)}`);
  };
  const show = () => plot.showForFocus(tipOf(items[k]), plot.x(middle(items[k])), top, bottom);
  announce();
  group.addEventListener("focus", () => {
    if (!group.matches(":focus-visible")) return;
    if (!plot.range.has(middle(items[k]))) k = nearest(items, plot.range.middle_s, middle);
    announce();
    show();
  });
  group.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    const ends = { Home: 0, End: items.length - 1 };
    if (event.key === "Enter") plot.seek?.(items[k].start_s ?? items[k].in_s);
    else if (event.key in steps) k = Math.max(0, Math.min(items.length - 1, k + steps[event.key]));
    else if (event.key in ends) k = ends[event.key];
    else return;
    event.preventDefault();
    announce();
    if (!plot.reveal(middle(items[k]))) show(); // revealing draws again, which shows the focused item
  });
}

const middleOf = (item) => (item.start_s + item.end_s) / 2;

/** The item on at `time_s`, or the closest one within a few pixels. Items ascend by start and may overlap. */
function itemAt(plot, items, time_s) {
  const tolerance_s = (4 / plot.width) * plot.range.span_s;
  let best = null;
  let distance_s = tolerance_s;
  for (const item of items) {
    if (item.start_s > time_s + tolerance_s) break;
    const away_s = item.end_s < time_s ? time_s - item.end_s : Math.max(0, item.start_s - time_s);
    if (away_s <= distance_s) [best, distance_s] = [item, away_s];
  }
  return best;
}

/** A row of texts with a start and an end, one tab stop named `label`. */
function drawTexts(plot, top, name, label) {
  const items = [...plot.data[name]].sort((a, b) => a.start_s - b.start_s);
  const group = svgElement("g", { class: `tl-${name}` }, plot.svg);
  svgElement("path", { d: bars(plot, items, top, EVENTS_HEIGHT) }, group);
  const tipOf = (item) => ({
    title: span(item),
    text: item.text,
    highlight: { item, y: top, height: EVENTS_HEIGHT },
  });
  const bottom = top + EVENTS_HEIGHT;
  makeStepper(plot, group, name, `${label}, arrow keys to browse`, items, middleOf, tipOf, top, bottom);
  return {
    bottom,
    tipAt(time_s) {
      const item = itemAt(plot, items, time_s);
      return item && tipOf(item);
    },
  };
}

const drawEvents = (plot, top) => drawTexts(plot, top, "events", "Events");
const drawChapters = (plot, top) => drawTexts(plot, top, "chapters", "Chapters");

function drawSwaps(plot, lane, top, track, y) {
  const group = svgElement("g", { class: "tl-swaps" }, plot.svg);
  for (const swap of lane.swaps) {
    if (!plot.range.has(swap.out_s) && !plot.range.has(swap.in_s)) continue;
    const [from, to] = [round(plot.x(swap.out_s)), round(plot.x(swap.in_s))];
    const rise = Math.min(track - top, 12 + Math.abs(to - from) / 6) * 1.6;
    const [middle, peak] = [round((from + to) / 2), round(track - rise)];
    const end = track - 3;
    svgElement("path", { class: "tl-arc", d: `M${from} ${track}Q${middle} ${peak} ${to} ${end}` }, group);
    const angle = round((Math.atan2(end - peak, to - middle) * 180) / Math.PI);
    svgElement(
      "path",
      { class: "tl-head", d: "M1 0L-7 -3.5L-7 3.5z", transform: `translate(${to} ${end}) rotate(${angle})` },
      group,
    );
    if (plot.range.has(swap.out_s)) svgElement("circle", { class: "tl-out", cx: from, cy: y, r: 4.5 }, group);
  }
  const tipOf = (swap) => ({ title: `${clock(swap.out_s)} replaced by ${clock(swap.in_s)}`, text: swap.note });
  const middle = (swap) => (swap.out_s + swap.in_s) / 2;
  makeStepper(
    plot,
    group,
    `swaps ${lane.key}`,
    `${lane.name}: swaps, arrow keys to browse`,
    lane.swaps,
    middle,
    tipOf,
    top,
    track,
  );
  return (_time_s, x) => {
    const distance = (swap) => Math.min(Math.abs(plot.x(swap.out_s) - x), Math.abs(plot.x(middle(swap)) - x));
    const swap = lane.swaps.reduce((best, other) => (distance(other) < distance(best) ? other : best));
    return distance(swap) <= HIT_RADIUS ? tipOf(swap) : null;
  };
}

function drawMarkers(plot, lane, frames, yOf, crowded) {
  const group = svgElement("g", { role: "group", class: "tl-markers" }, plot.svg);
  group.setAttribute("aria-label", `${lane.name}: selected frames, arrow keys to browse`);
  const r = crowded ? 4 : 7;
  const previous = plot.positions.get(lane.key);
  const visible = frames.filter(({ time_s }) => plot.range.has(time_s));
  const active = visible.some((frame) => frame.id === previous) ? previous : visible[0]?.id;
  for (const frame of visible) {
    const marker = svgElement("g", { role: "button", class: `tl-marker role-${frame.role}` }, group);
    marker.setAttribute("transform", `translate(${round(plot.x(frame.time_s))} ${round(yOf(frame))})`);
    marker.setAttribute("tabindex", frame.id === active ? 0 : -1);
    marker.setAttribute("aria-label", `Frame ${frame.number}, ${clock(frame.time_s)}, ${roleName(frame.role)}`);
    marker.dataset.key = frame.id;
    marker.dataset.frame = frame.id;
    marker.dataset.lane = lane.key;
    svgElement("circle", { class: "tl-ring", r: r + 4 }, marker);
    svgElement("path", { d: markerPath(frame.role, r) }, marker);
  }
}

function drawLane(plot, lane, top) {
  const track = top + (lane.swaps.length ? ARC_HEIGHT : 0);
  const frames = [...lane.frames].sort((a, b) => a.time_s - b.time_s);
  // Where many markers would overlap, they are small and each role gets a row of its own.
  const close_s = (9 / plot.width) * plot.data.duration_s; // at any zoom, so that the height stays
  const close = frames.filter((frame, k) => k && frame.time_s - frames[k - 1].time_s < close_s);
  const crowded = close.length > frames.length / 4;
  const roles = ROLES.filter((role) => frames.some((frame) => frame.role === role));
  const height = crowded ? Math.max(TRACK_HEIGHT, 2 * ROLE_STEP + roles.length * ROLE_STEP) : TRACK_HEIGHT;
  const bottom = track + height;
  const y = crowded ? bottom - ROLE_STEP / 2 - 2 : track + height / 2;
  const yOf = (frame) => (crowded ? track + ROLE_STEP * (roles.indexOf(frame.role) + 0.75) : y);
  const segments = svgElement("g", { class: "tl-omitted" }, plot.svg);
  const tipOf = (segment) => ({
    title: `omitted: ${span(segment)}`,
    text: segment.note,
    highlight: { item: segment, y: y - 3, height: 6 },
  });
  const omitted = [...lane.omitted].sort((a, b) => a.start_s - b.start_s);
  if (omitted.length) {
    svgElement("path", { d: bars(plot, omitted, y - 3, 6) }, segments);
    const label = `${lane.name}: omitted segments, arrow keys to browse`;
    makeStepper(plot, segments, `omitted ${lane.key}`, label, omitted, middleOf, tipOf, track, bottom);
  } else
    svgElement("path", { d: `M${plot.x(0)} ${y - 0.5}H${plot.x(plot.data.duration_s)}v1H${plot.x(0)}z` }, segments);
  const swapAt = lane.swaps.length ? drawSwaps(plot, lane, top, track, y) : () => null;
  drawMarkers(plot, lane, frames, yOf, crowded);
  const nearestFrame = (x, pointer_y) => {
    let best = null;
    let distance = HIT_RADIUS;
    for (const frame of frames.filter(({ time_s }) => plot.range.has(time_s))) {
      const away = Math.hypot(plot.x(frame.time_s) - x, yOf(frame) - pointer_y);
      if (away < distance) [best, distance] = [frame, away];
    }
    return best;
  };
  return {
    bottom,
    tipAt(time_s, x, pointer_y) {
      if (pointer_y < track) return swapAt(time_s, x);
      const frame = nearestFrame(x, pointer_y);
      if (frame) return frameTip(frame);
      const segment = itemAt(plot, omitted, time_s);
      return segment && tipOf(segment);
    },
    frameAt: (_time_s, x, pointer_y) => (pointer_y < track ? null : nearestFrame(x, pointer_y)),
  };
}

function frameTip(frame) {
  const title = `Frame ${frame.number} · ${clock(frame.time_s)} · ${roleName(frame.role)}`;
  return { title, text: frame.text ?? "", image: frame.image };
}

/** Shade what lies outside the window that was considered. */
function drawOutside(plot, group, height) {
  const { duration_s, window } = plot.data;
  if (!window) return;
  const [from_s, to_s] = window;
  for (const [start_s, end_s, edge_s] of [
    [0, from_s, from_s],
    [to_s, duration_s, to_s],
  ]) {
    const [left, right, edge] = [start_s, end_s, edge_s].map((time_s) => round(plot.x(time_s)));
    if (right <= left) continue;
    svgElement("path", { class: "tl-shade", d: `M${left} 0H${right}V${height}H${left}z` }, group);
    if (plot.range.has(edge_s)) svgElement("path", { class: "tl-edge", d: `M${edge} 0V${height}` }, group);
  }
}

/** On a joint timeline, the name of each video where it starts, as far as there is room before the next. */
function drawNames(plot, group, top) {
  const { duration_s, videos } = plot.data;
  videos.forEach(({ name, start_s }, k) => {
    const x = round(plot.x(start_s));
    const room = Math.floor((plot.x(videos[k + 1]?.start_s ?? duration_s) - x) / 7.5); // characters
    if (plot.range.has(start_s)) svgElement("path", { class: "tl-edge", d: `M${x} 0V${top + 5}` }, group);
    const text = name.length > room ? `${name.slice(0, Math.max(0, room - 1))}…` : name;
    if (room > 3) svgElement("text", { x, y: top + 19 }, group).textContent = text;
  });
}

function drawAxis(plot, top) {
  const group = svgElement("g", { class: "tl-axis", "aria-hidden": "true" }, plot.svg);
  const { duration_s } = plot.data;
  svgElement("path", { d: `M${round(plot.x(0))} ${top}H${round(plot.x(duration_s))}` }, group);
  if (plot.data.videos?.length > 1) {
    drawNames(plot, group, top);
    return { bottom: top + 24 };
  }
  for (const time_s of ticks(plot.range.from_s, plot.range.to_s, plot.width)) {
    const x = round(plot.x(time_s));
    svgElement("path", { d: `M${x} ${top}v5` }, group);
    // The first and last label are aligned to the edges, so that neither is cut off.
    const anchor = x < 30 ? "start" : x > plot.outer - 30 ? "end" : "middle";
    const at = anchor === "end" ? plot.outer : x;
    svgElement("text", { x: at, y: top + 19, "text-anchor": anchor }, group).textContent = clock(time_s);
  }
  return { bottom: top + 24 };
}

Object.assign(globalThis.framesift, {
  bars,
  drawAxis,
  drawChapters,
  drawCurve,
  drawEvents,
  drawLane,
  drawOutside,
  frameTip,
  markerPath,
  roleName,
  svgElement,
});
