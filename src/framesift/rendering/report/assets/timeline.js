// A video's timeline: relevance curve, events, and one lane per method with its chosen frames, the stretches left out and
// the swaps, on one time axis. It knows nothing of the page around it; timeline.css gives it its looks.
import { clock } from "./scale.js";
import { bars, drawAxis, drawCurve, drawEvents, drawLane, frameTip, svgElement } from "./rows.js";

const SIDE = 10;
const CAPTION_HEIGHT = 26;
const PICTURE = { width: 220, height: 160 }; // the most that a picture beside the pointer takes, in pixels
const REST_MS = 90; // the pointer rests this long before a picture is fetched for where it stands

function tidy(data) {
  const { times_s = [], relevance = [] } = data.curve ?? {};
  const lanes = (data.lanes ?? []).map((lane, k) => ({ omitted: [], swaps: [], ...lane, key: `lane ${k}` }));
  const ends = [times_s.at(-1) ?? 0, ...lanes.flatMap((lane) => lane.frames.map((frame) => frame.time_s))];
  // A last frame may lie a step past the stated end; the axis must still hold it.
  const duration_s = ends.reduce((most, end) => Math.max(most, end), data.duration_s || 0) || 1;
  return { ...data, duration_s, curve: { times_s, relevance }, events: data.events ?? [], lanes };
}

function html(name, className, parent) {
  const element = document.createElement(name);
  element.className = className;
  parent.append(element);
  return element;
}

/** Words and a picture beside the pointer. A picture to come has its room kept, so that nothing jumps when it is there. */
function makeTip(root) {
  const box = html("div", "tl-tip", root);
  box.setAttribute("aria-hidden", "true"); // what it says is in the labels of the things themselves
  box.hidden = true;
  const picture = html("img", "tl-tip-picture", box);
  picture.alt = "";
  const title = html("div", "tl-tip-title", box);
  const text = html("div", "tl-tip-text", box);
  text.dir = "auto";
  let resting = 0;
  let put = () => {}; // once more, when its size has changed
  const draw = (address) => picture.getAttribute("src") !== address && picture.setAttribute("src", address);
  picture.addEventListener("load", () => put());
  picture.addEventListener("error", () => {
    picture.hidden = true;
    put();
  });

  function fetchLater({ address, width, height }) {
    const scale = Math.min(1, PICTURE.width / width, PICTURE.height / height);
    picture.width = Math.round(width * scale);
    picture.height = Math.round(height * scale);
    if (picture.getAttribute("src") === address) return;
    picture.removeAttribute("src");
    resting = setTimeout(() => draw(address), REST_MS);
  }

  /** Below the row, or above it where the window ends; where neither has room, as low as the window allows. */
  function place(x, above, below) {
    const most = root.clientWidth - box.offsetWidth;
    box.style.left = `${Math.max(0, Math.min(most, x - box.offsetWidth / 2))}px`;
    const top = root.getBoundingClientRect().top;
    const lowest = innerHeight - top - box.offsetHeight - 4;
    const over = above - box.offsetHeight - 10;
    const under = below + 10;
    box.style.top = `${under <= lowest ? under : top + over >= 0 ? over : Math.max(4 - top, lowest)}px`;
  }

  return {
    show(tip, x, above, below) {
      clearTimeout(resting);
      title.textContent = tip.title;
      text.textContent = tip.text;
      text.hidden = !tip.text;
      picture.hidden = !tip.picture && !tip.near;
      if (tip.picture) {
        picture.removeAttribute("width");
        picture.removeAttribute("height");
        draw(tip.picture);
      } else if (tip.near) fetchLater(tip.near);
      box.hidden = false;
      put = () => place(x, above, below);
      put();
    },
    hide() {
      clearTimeout(resting);
      box.hidden = true;
    },
  };
}

/**
 * Draw a timeline into `element` and keep it right as the element changes size.
 *
 * data: {duration_s, curve: {times_s, relevance}, events: [{start_s, end_s, text}],
 *        lanes: [{name, caption, frames: [{id, number, time_s, role, text, picture}], omitted, swaps}],
 *        onFrame(id), onSeek(time_s), pictureNear(time_s) -> {address, width, height}}; all but duration_s may be
 *        missing. Ids are unique over all lanes.
 * Returns {update(data), mark(id or null), playing(time_s or null), focus(id), destroy()}; update takes only what changed.
 */
export function drawTimeline(element, data) {
  let given = data;
  let rows = [];
  let plot = null;
  let marked = null;
  let played_s = null;
  let byFocus = false; // whether what stands beside the pointer is there for the keyboard
  const places = new Map(); // where the arrow keys stand in each row, kept over redraws
  const root = html("div", "tl", element);
  const svg = svgElement("svg", { class: "tl-svg", role: "group", "aria-label": "Timeline of the video" }, root);
  const now = html("div", "tl-now", root);
  now.setAttribute("aria-hidden", "true");
  now.hidden = true;
  const tip = makeTip(root);

  function caption(text, top) {
    const room = Math.floor(plot.width / 6.5);
    const line = svgElement("text", { class: "tl-caption", x: SIDE, y: top + 15 }, svg);
    line.textContent = text.length > room ? `${text.slice(0, room - 1)}…` : text;
    return top + CAPTION_HEIGHT;
  }

  function redraw() {
    const outer = root.clientWidth;
    if (!outer) return;
    const held = svg.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const shown = tidy(given);
    const width = outer - 2 * SIDE;
    const x = (time_s) => SIDE + (Math.max(0, Math.min(shown.duration_s, time_s)) / shown.duration_s) * width;
    plot = { svg, data: shown, outer, width, x, places, focusOn, seek: given.onSeek };
    svg.replaceChildren();
    const guide = svgElement("path", { class: "tl-guide", d: "M0 0" }, svg);
    rows = [];
    let top = 0;
    const add = (text, draw, gap) => {
      const from = text ? caption(text, top) : top;
      const row = draw(from);
      rows.push({ top, ...row });
      top = row.bottom + gap;
    };
    if (shown.curve.relevance.some(Number.isFinite)) add("Relevance to the question", (y) => drawCurve(plot, y), 12);
    if (shown.events.length) add(`Words said or shown (${shown.events.length})`, (y) => drawEvents(plot, y), 12);
    for (const lane of shown.lanes) add(lane.caption ?? lane.name, (y) => drawLane(plot, lane, y), 8);
    add("", (y) => drawAxis(plot, y + 4), 0);
    plot.guide = guide;
    plot.height = top;
    plot.head = svgElement("path", { class: "tl-playhead" }, svg);
    plot.lit = svgElement("path", { class: "tl-lit" }, svg);
    hide();
    playing(played_s);
    svg.setAttribute("viewBox", `0 0 ${outer} ${top}`);
    svg.setAttribute("width", outer);
    svg.setAttribute("height", top);
    mark(marked);
    if (held) svg.querySelector(`[data-key="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  }

  /** Words beside what they are about, which reaches from `above` to `below`. */
  function show(found, x, above, below) {
    const { item, y: from = 0, height = 0 } = found.lit ?? {};
    plot.lit.setAttribute("d", item ? bars(plot, [item], from - 2, height + 4, 3) : "M0 0");
    tip.show(found, x, above, below);
  }

  /** The same for what has the keyboard's focus; it goes when the focus does. */
  function focusOn(...given) {
    byFocus = true;
    show(...given);
  }

  function hide() {
    byFocus = false;
    plot.lit.setAttribute("d", "M0 0");
    tip.hide();
  }

  function at(event) {
    const box = svg.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const time_s = Math.max(0, Math.min(1, (x - SIDE) / plot.width)) * plot.data.duration_s;
    return { x, y, time_s, row: rows.find((row) => y >= row.top && y <= row.bottom) };
  }

  /** Ring the marker that a press would take: the nearest, which is not always the one on top. */
  function pointAt(id) {
    svg.querySelector(".tl-near")?.classList.remove("tl-near");
    if (id !== null) markerOf(id)?.classList.add("tl-near");
  }

  function leave() {
    if (!plot) return;
    hide();
    pointAt(null);
    now.hidden = true;
    plot.guide.setAttribute("d", "M0 0");
  }

  function point(event) {
    const { x, y, time_s, row } = at(event);
    const near = given.pictureNear?.(time_s);
    const found = row?.tip?.(time_s, x, y) ?? (near && { title: clock(time_s), text: "" });
    byFocus = false;
    if (found) show({ near, ...found }, x, row?.top ?? y, row?.bottom ?? y);
    else hide();
    const frame = row?.press?.(time_s, x, y);
    svg.classList.toggle("tl-can-press", Boolean(frame) || Boolean(given.onSeek));
    pointAt(frame?.id ?? null);
    const line = plot.x(time_s);
    plot.guide.setAttribute("d", `M${line} 0V${plot.height - 24}`);
    now.hidden = false;
    now.textContent = clock(time_s);
    now.style.top = `${plot.height - 23}px`;
    now.style.left = `${Math.max(0, Math.min(plot.outer - now.offsetWidth, line - now.offsetWidth / 2))}px`;
  }
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  // A finger leaves as soon as it has tapped; what it tapped stays until the next tap.
  svg.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && leave());
  const outside = (event) => svg.contains(event.target) || leave();
  document.addEventListener("pointerdown", outside);
  svg.addEventListener("click", (event) => {
    const { x, y, time_s, row } = at(event);
    const frame = row?.press?.(time_s, x, y);
    if (frame) choose(frame.id);
    else given.onSeek?.(time_s);
  });

  const markerOf = (id) => svg.querySelector(`[data-frame="${CSS.escape(String(id))}"]`);

  function rove(marker) {
    for (const other of marker.parentNode.children) other.setAttribute("tabindex", other === marker ? 0 : -1);
    places.set(marker.dataset.lane, marker.dataset.frame);
  }

  function focus(id) {
    const marker = markerOf(id);
    if (!marker) return;
    rove(marker);
    marker.focus();
  }

  function choose(id) {
    focus(id);
    leave();
    given.onFrame?.(id);
  }

  /** The marker of the next lane up or down that is closest in time. */
  function across(marker, step) {
    const lanes = [...svg.querySelectorAll(".tl-markers")];
    const lane = lanes[lanes.indexOf(marker.parentNode) + step];
    const from = marker.getBoundingClientRect().x;
    const away = (other) => Math.abs(other.getBoundingClientRect().x - from);
    return [...(lane?.children ?? [])].sort((a, b) => away(a) - away(b))[0];
  }

  svg.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const marker = event.target.closest?.(".tl-marker");
    if (!marker) return;
    const all = marker.parentNode;
    const moves = {
      ArrowLeft: () => marker.previousElementSibling,
      ArrowRight: () => marker.nextElementSibling,
      Home: () => all.firstElementChild,
      End: () => all.lastElementChild,
      ArrowUp: () => across(marker, -1),
      ArrowDown: () => across(marker, 1),
    };
    if (event.key === "Enter" || event.key === " ") choose(marker.dataset.frame);
    else if (event.key in moves) focus((moves[event.key]() ?? marker).dataset.frame);
    else return;
    event.preventDefault();
  });
  // On the element around it: an SVG element that listens for focus becomes a stop for Tab in Chromium.
  root.addEventListener("focusin", (event) => {
    const marker = event.target.closest(".tl-marker");
    if (!marker || !marker.matches(":focus-visible")) return;
    const frames = plot.data.lanes.flatMap((lane) => lane.frames);
    const frame = frames.find((one) => String(one.id) === marker.dataset.frame);
    const box = marker.getBoundingClientRect();
    const top = svg.getBoundingClientRect().top;
    focusOn(frameTip(frame), plot.x(frame.time_s), box.top - top - 6, box.bottom - top + 6);
  });
  root.addEventListener("focusout", () => byFocus && hide());

  function mark(id) {
    marked = id;
    svg.querySelector(".tl-marked")?.classList.remove("tl-marked");
    if (id !== null) markerOf(id)?.classList.add("tl-marked");
  }

  /** Show where the video plays. */
  function playing(time_s) {
    played_s = time_s;
    if (!plot) return;
    const x = time_s === null ? 0 : Math.round(plot.x(time_s) * 10) / 10;
    plot.head.setAttribute("d", time_s === null ? "M0 0" : `M${x} 0V${plot.height - 24}`);
  }

  let width = 0;
  const observer = new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    redraw();
  });
  observer.observe(root);
  width = root.clientWidth;
  redraw();
  return {
    update(changed) {
      given = { ...given, ...changed };
      redraw();
    },
    mark,
    playing,
    focus,
    destroy() {
      observer.disconnect();
      document.removeEventListener("pointerdown", outside);
      root.remove();
    },
  };
}
