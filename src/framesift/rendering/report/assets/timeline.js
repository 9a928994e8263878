// A video's timeline: relevance curve, events, and one lane per method with its selected frames, omitted segments and
// swaps, on one time axis. It is independent of the page around it; timeline.css styles it.
const { bars, clock, drawAxis, drawCurve, drawEvents, drawLane, drawOutside, frameTip, svgElement } =
  globalThis.framesift;

const SIDE = 10;
const CAPTION_HEIGHT = 26;
const MAX_IMAGE = { width: 220, height: 160 }; // pixels of an image in the tip
const DRAG_PIXELS = 6; // less is a click
const REST_MS = 90; // how long the pointer rests before an image is loaded for its time

function withDefaults(data) {
  const { times_s = [], relevance = [] } = data.curve ?? {};
  const lanes = (data.lanes ?? []).map((lane, k) => ({ omitted: [], swaps: [], ...lane, key: `lane ${k}` }));
  const lastTimes_s = [times_s.at(-1) ?? 0, ...lanes.flatMap((lane) => lane.frames.map((frame) => frame.time_s))];
  // The last frame may come after the duration that the container declares.
  const duration_s = lastTimes_s.reduce((latest, time_s) => Math.max(latest, time_s), data.duration_s || 0) || 1;
  return { ...data, duration_s, curve: { ...data.curve, times_s, relevance }, events: data.events ?? [], lanes };
}

function html(name, className, parent) {
  const element = document.createElement(name);
  element.className = className;
  parent.append(element);
  return element;
}

/** The tip beside the pointer: text and an image. Space for an image is reserved while it loads, so that nothing moves. */
function makeTip(root) {
  const box = html("div", "tl-tip", root);
  box.setAttribute("aria-hidden", "true"); // its text is in the labels of the items
  box.hidden = true;
  const image = html("img", "tl-tip-image", box);
  image.alt = "";
  const title = html("div", "tl-tip-title", box);
  const text = html("div", "tl-tip-text", box);
  text.dir = "auto";
  let restTimer = 0;
  let reposition = () => {}; // called again when the size of the tip has changed
  const load = (url) => image.getAttribute("src") !== url && image.setAttribute("src", url);
  image.addEventListener("load", () => reposition());
  image.addEventListener("error", () => {
    image.hidden = true;
    reposition();
  });

  function loadAfterRest({ url, width, height }) {
    const scale = Math.min(1, MAX_IMAGE.width / width, MAX_IMAGE.height / height);
    image.width = Math.round(width * scale);
    image.height = Math.round(height * scale);
    if (image.getAttribute("src") === url) return;
    image.removeAttribute("src");
    restTimer = setTimeout(() => load(url), REST_MS);
  }

  /** Below the row; above it if the window ends first; if neither fits, beside the pointer. */
  function place(x, above, below) {
    const maxLeft = root.clientWidth - box.offsetWidth;
    const top = root.getBoundingClientRect().top;
    const lowest = innerHeight - top - box.offsetHeight - 4;
    const over = above - box.offsetHeight - 10;
    const under = below + 10;
    const isClear = under <= lowest || top + over >= 0;
    const beside = x < root.clientWidth / 2 ? x + 16 : x - box.offsetWidth - 16;
    box.style.left = `${Math.max(0, Math.min(maxLeft, isClear ? x - box.offsetWidth / 2 : beside))}px`;
    box.style.top = `${under <= lowest ? under : isClear ? over : Math.max(4 - top, lowest)}px`;
  }

  return {
    show(tip, x, above, below) {
      clearTimeout(restTimer);
      title.textContent = tip.title;
      text.textContent = tip.text;
      text.hidden = !tip.text;
      image.hidden = !tip.image && !tip.nearby;
      if (tip.image) {
        image.removeAttribute("width");
        image.removeAttribute("height");
        load(tip.image);
      } else if (tip.nearby) loadAfterRest(tip.nearby);
      box.hidden = false;
      reposition = () => place(x, above, below);
      reposition();
    },
    hide() {
      clearTimeout(restTimer);
      box.hidden = true;
    },
  };
}

/**
 * Draw a timeline into `element` and redraw it when the element changes size.
 *
 * data: {duration_s, window: [from_s, to_s], curve: {times_s, relevance, chance}, events: [{start_s, end_s, text}],
 *        lanes: [{name, caption, frames: [{id, number, time_s, role, text, picture}], omitted, swaps}],
 *        onFrame(id), onSeek(time_s), onWindow(from_s, to_s), imageNear(time_s) -> {url, width, height}}; all but duration_s are optional.
 *        Ids are unique over all lanes.
 * Returns {update(data), mark(id or null), playing(time_s or null), focus(id), destroy()}; update merges.
 */
function drawTimeline(element, data) {
  let current = data;
  let rows = [];
  let plot = null;
  let marked = null;
  let played_s = null;
  let isForFocus = false; // whether the tip belongs to the focused item rather than to the pointer
  const positions = new Map(); // of the arrow keys in each row, kept when redrawing
  const root = html("div", "tl", element);
  const svg = svgElement("svg", { class: "tl-svg", role: "group", "aria-label": "Timeline of the video" }, root);
  const now = html("div", "tl-now", root);
  now.setAttribute("aria-hidden", "true");
  now.hidden = true;
  const tip = makeTip(root);

  function caption(text, top) {
    const length = Math.floor(plot.width / 6.5); // characters
    const line = svgElement("text", { class: "tl-caption", x: SIDE, y: top + 15 }, svg);
    line.textContent = text.length > length ? `${text.slice(0, length - 1)}…` : text;
    return top + CAPTION_HEIGHT;
  }

  function redraw() {
    const outer = root.clientWidth;
    if (!outer) return;
    const focusedKey = svg.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const shown = withDefaults(current);
    const width = outer - 2 * SIDE;
    const x = (time_s) => SIDE + (Math.max(0, Math.min(shown.duration_s, time_s)) / shown.duration_s) * width;
    plot = { svg, data: shown, outer, width, x, positions, showForFocus, seek: current.onSeek };
    svg.replaceChildren();
    const outside = svgElement("g", { class: "tl-outside" }, svg);
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
    if (shown.events.length)
      add(`Events: subtitles, speech or text on screen (${shown.events.length})`, (y) => drawEvents(plot, y), 12);
    for (const lane of shown.lanes) add(lane.caption ?? lane.name, (y) => drawLane(plot, lane, y), 8);
    add("", (y) => drawAxis(plot, y + 4), 0);
    plot.guide = guide;
    plot.height = top;
    drawOutside(plot, outside, top - 24);
    plot.chosen = svgElement("path", { class: "tl-chosen", d: "M0 0" }, svg);
    plot.head = svgElement("path", { class: "tl-playhead" }, svg);
    plot.highlight = svgElement("path", { class: "tl-highlight" }, svg);
    hide();
    playing(played_s);
    svg.setAttribute("viewBox", `0 0 ${outer} ${top}`);
    svg.setAttribute("width", outer);
    svg.setAttribute("height", top);
    mark(marked);
    if (focusedKey) svg.querySelector(`[data-key="${CSS.escape(focusedKey)}"]`)?.focus({ preventScroll: true });
  }

  /** Show the tip of an item that extends from `above` to `below`. */
  function show(content, x, above, below) {
    const { item, y: from = 0, height = 0 } = content.highlight ?? {};
    plot.highlight.setAttribute("d", item ? bars(plot, [item], from - 2, height + 4, 3) : "M0 0");
    tip.show(content, x, above, below);
  }

  /** Show the tip of the focused item; it disappears with the focus. */
  function showForFocus(...shown) {
    isForFocus = true;
    show(...shown);
  }

  function hide() {
    isForFocus = false;
    plot.highlight.setAttribute("d", "M0 0");
    tip.hide();
  }

  function at(event) {
    const box = svg.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const time_s = Math.max(0, Math.min(1, (x - SIDE) / plot.width)) * plot.data.duration_s;
    return { x, y, time_s, row: rows.find((row) => y >= row.top && y <= row.bottom) };
  }

  /** Outline the marker that a click would open: the nearest, which is not always the topmost. */
  function outline(id) {
    svg.querySelector(".tl-near")?.classList.remove("tl-near");
    if (id !== null) markerOf(id)?.classList.add("tl-near");
  }

  function leave() {
    if (!plot) return;
    hide();
    outline(null);
    now.hidden = true;
    plot.guide.setAttribute("d", "M0 0");
  }

  function point(event) {
    const { x, y, time_s, row } = at(event);
    const nearby = current.imageNear?.(time_s);
    const content = row?.tipAt?.(time_s, x, y) ?? (nearby && { title: clock(time_s), text: "" });
    isForFocus = false;
    if (content) show({ nearby, ...content }, x, row?.top ?? y, row?.bottom ?? y);
    else hide();
    const frame = row?.frameAt?.(time_s, x, y);
    svg.classList.toggle("tl-clickable", Boolean(frame) || Boolean(current.onSeek));
    outline(frame?.id ?? null);
    const line = plot.x(time_s);
    plot.guide.setAttribute("d", `M${line} 0V${plot.height - 24}`);
    now.hidden = false;
    now.textContent = clock(time_s);
    now.style.top = `${plot.height - 23}px`;
    now.style.left = `${Math.max(0, Math.min(plot.outer - now.offsetWidth, line - now.offsetWidth / 2))}px`;
  }
  // Dragging chooses a part of the video; a touch scrolls the page instead.
  let pressed = null; // {x, time_s} where a drag may begin
  let isDragged = false;
  svg.addEventListener("pointerdown", (event) => {
    isDragged = false;
    pressed = current.onWindow && event.button === 0 && event.pointerType !== "touch" ? at(event) : null;
    point(event);
  });
  svg.addEventListener("pointermove", (event) => {
    point(event);
    const { x, time_s } = at(event);
    if (!pressed || (!isDragged && Math.abs(x - pressed.x) < DRAG_PIXELS)) return;
    if (!isDragged) svg.setPointerCapture(event.pointerId);
    isDragged = true;
    const [left, right] = [pressed.time_s, time_s].sort((a, b) => a - b).map((one) => plot.x(one));
    plot.chosen.setAttribute("d", `M${left} 0H${right}V${plot.height - 24}H${left}z`);
  });
  const endDrag = (event) => {
    if (plot) plot.chosen.setAttribute("d", "M0 0");
    const from = pressed;
    pressed = null;
    if (!from || !isDragged || event.type === "pointercancel") return;
    current.onWindow(...[from.time_s, at(event).time_s].sort((a, b) => a - b).map((one) => Math.round(one * 10) / 10));
  };
  svg.addEventListener("pointerup", endDrag);
  svg.addEventListener("pointercancel", endDrag);
  // A touch pointer leaves at the end of the tap; the tip stays until the next tap.
  svg.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && leave());
  const leaveIfOutside = (event) => svg.contains(event.target) || leave();
  document.addEventListener("pointerdown", leaveIfOutside);
  svg.addEventListener("click", (event) => {
    if (isDragged) return;
    const { x, y, time_s, row } = at(event);
    const frame = row?.frameAt?.(time_s, x, y);
    if (frame) open(frame.id);
    else current.onSeek?.(time_s);
  });

  const markerOf = (id) => svg.querySelector(`[data-frame="${CSS.escape(String(id))}"]`);

  function makeTabStop(marker) {
    for (const other of marker.parentNode.children) other.setAttribute("tabindex", other === marker ? 0 : -1);
    positions.set(marker.dataset.lane, marker.dataset.frame);
  }

  function focus(id) {
    const marker = markerOf(id);
    if (!marker) return;
    makeTabStop(marker);
    marker.focus();
  }

  function open(id) {
    focus(id);
    leave();
    current.onFrame?.(id);
  }

  /** The marker closest in time in the lane above or below. */
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
    if (event.key === "Enter" || event.key === " ") open(marker.dataset.frame);
    else if (event.key in moves) focus((moves[event.key]() ?? marker).dataset.frame);
    else return;
    event.preventDefault();
  });
  // On the parent: in Chromium an SVG element that listens for focus becomes a tab stop.
  root.addEventListener("focusin", (event) => {
    const marker = event.target.closest(".tl-marker");
    if (!marker?.matches(":focus-visible")) return;
    const frames = plot.data.lanes.flatMap((lane) => lane.frames);
    const frame = frames.find((one) => String(one.id) === marker.dataset.frame);
    const box = marker.getBoundingClientRect();
    const top = svg.getBoundingClientRect().top;
    showForFocus(frameTip(frame), plot.x(frame.time_s), box.top - top - 6, box.bottom - top + 6);
  });
  root.addEventListener("focusout", () => isForFocus && hide());

  function mark(id) {
    marked = id;
    svg.querySelector(".tl-marked")?.classList.remove("tl-marked");
    if (id !== null) markerOf(id)?.classList.add("tl-marked");
  }

  /** Show the playback position. */
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
      current = { ...current, ...changed };
      redraw();
    },
    mark,
    playing,
    focus,
    destroy() {
      observer.disconnect();
      document.removeEventListener("pointerdown", leaveIfOutside);
      root.remove();
    },
  };
}

globalThis.framesift.drawTimeline = drawTimeline;
