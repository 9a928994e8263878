// A video's timeline: relevance curve, events, and one lane per method with its selected frames, omitted segments and
// swaps, on one time axis. It is independent of the page around it; timeline.css styles it.
const { TimeRange, htmlElement, listenToKeys, listenToPinch, listenToWheel, makeButtons, makeOverview, makeTip } =
  globalThis.framesift;
const {
  bars,
  clock,
  drawAxis,
  drawChapters,
  drawCurve,
  drawEvents,
  drawLane,
  drawOutside,
  frameTip,
  nearest,
  svgElement,
} = globalThis.framesift;

const SIDE = 10;
const CAPTION_HEIGHT = 26;
const AXIS_HEIGHT = 24;
const DRAG_PIXELS = 6; // less is a click
const TOUCH_DRAG_PIXELS = 16;
const JUMP_S = 5; // playback that moves further has been moved

function withDefaults(data) {
  const { times_s = [], relevance = [] } = data.curve ?? {};
  const lanes = (data.lanes ?? []).map((lane, k) => ({ omitted: [], swaps: [], ...lane, key: `lane ${k}` }));
  const lastTimes_s = [times_s.at(-1) ?? 0, ...lanes.flatMap((lane) => lane.frames.map((frame) => frame.time_s))];
  // The last frame may come after the duration that the container declares.
  const duration_s = lastTimes_s.reduce((latest, time_s) => Math.max(latest, time_s), data.duration_s || 0) || 1;
  return {
    ...data,
    duration_s,
    curve: { ...data.curve, times_s, relevance },
    events: data.events ?? [],
    chapters: data.chapters ?? [],
    lanes,
  };
}

/**
 * Draw a timeline into `element` and redraw it when the element changes size.
 *
 * data: {duration_s, window: [from_s, to_s], curve: {times_s, relevance, chance}, events: [{start_s, end_s, text}],
 *        chapters: the same;
 *        lanes: [{name, caption, frames: [{id, number, time_s, role, text, image}], omitted, swaps}],
 *        onFrame(id, frame), onSeek(time_s), onWindow(from_s, to_s), imageNear(time_s) -> {url, width, height}}; all but duration_s are optional.
 *        Ids are unique over all lanes.
 * Returns {update(data), mark(id or null), playing(time_s or null), focus(id), zoom("in", "out" or "whole"),
 * canZoom(), destroy()}; update merges.
 */
function drawTimeline(element, data) {
  let current = data;
  let rows = [];
  let plot = null;
  let marked = null;
  let played_s = null;
  let isForFocus = false; // whether the tip belongs to the focused item rather than to the pointer
  let hovered = null; // the last event of the pointer over the timeline
  let redrawRequest = 0;
  const range = new TimeRange();
  const positions = new Map(); // of the arrow keys in each row, kept when redrawing
  const root = htmlElement("div", "tl", element);
  const updateButtons = makeButtons(root, range, zoom);
  const svg = svgElement("svg", { class: "tl-svg", role: "group", "aria-label": "Timeline of the video" }, root);
  const updateOverview = makeOverview(root, range, rangeChanged);
  const now = htmlElement("div", "tl-now", root);
  now.setAttribute("aria-hidden", "true");
  now.hidden = true;
  const tip = makeTip(root);

  function caption(text, top) {
    const room = plot.width - (top ? 0 : root.firstElementChild.offsetWidth); // the buttons are beside the first one
    const length = Math.floor(room / 6.5); // characters
    const line = svgElement("text", { class: "tl-caption", x: SIDE, y: top + 15 }, svg);
    line.textContent = text.length > length ? `${text.slice(0, length - 1)}…` : text;
    return top + CAPTION_HEIGHT;
  }

  function redraw() {
    cancelAnimationFrame(redrawRequest);
    redrawRequest = 0;
    const outer = root.clientWidth;
    if (!outer) return;
    const focusedKey = svg.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const shown = withDefaults(current);
    range.setDuration(shown.duration_s);
    updateButtons();
    updateOverview();
    const width = outer - 2 * SIDE;
    const x = (time_s) => SIDE + Math.max(0, Math.min(1, (time_s - range.from_s) / range.span_s)) * width;
    plot = { svg, data: shown, outer, width, x, range, positions, showForFocus, reveal, seek: current.onSeek };
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
    if (shown.chapters.length > 1) add("Chapters", (y) => drawChapters(plot, y), 12);
    if (shown.events.length)
      add(`Events: subtitles, speech or text on screen (${shown.events.length})`, (y) => drawEvents(plot, y), 12);
    for (const lane of shown.lanes) add(lane.caption ?? lane.name, (y) => drawLane(plot, lane, y), 8);
    add("", (y) => drawAxis(plot, y + 4), 0);
    plot.guide = guide;
    plot.height = top;
    plot.axisTop = top - AXIS_HEIGHT;
    drawOutside(plot, outside, plot.axisTop);
    plot.chosen = svgElement("path", { class: "tl-chosen", d: "M0 0" }, svg);
    plot.head = svgElement("path", { class: "tl-playhead" }, svg);
    plot.highlight = svgElement("path", { class: "tl-highlight" }, svg);
    hide();
    drawPlayhead();
    svg.setAttribute("viewBox", `0 0 ${outer} ${top}`);
    svg.setAttribute("width", outer);
    svg.setAttribute("height", top);
    drawMark();
    if (focusedKey) svg.querySelector(`[data-key="${CSS.escape(focusedKey)}"]`)?.focus({ preventScroll: true });
    if (hovered && svg.matches(":hover")) point(hovered);
  }

  /** Draw again, but do not replace a marker that is being pressed: its click would be lost. */
  function redrawWhenReleased() {
    if (svg.matches(":active")) requestAnimationFrame(redrawWhenReleased);
    else redraw();
  }

  /** Draw again when the visible part has changed, once before the next paint. */
  function rangeChanged(isChanged) {
    if (isChanged) redrawRequest ||= requestAnimationFrame(redraw);
  }

  /** Zoom around the focused marker, or the playback position, or the middle. */
  function zoom(direction) {
    if (!plot || !range.canZoom) return;
    const focused = frameOf(document.activeElement?.closest?.(".tl-marker"));
    const around_s = [focused?.time_s, played_s].find((time_s) => Number.isFinite(time_s) && range.has(time_s));
    rangeChanged(range.step(direction, around_s ?? range.middle_s));
  }

  /** Pan to a time that is not visible; whether it was not. */
  function reveal(time_s) {
    const isMoved = range.reveal(time_s);
    if (isMoved) redraw();
    return isMoved;
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

  /** Where an event is between the left (0) and the right end (1) of the visible part. */
  function shareAt(event) {
    const { left } = svg.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - left - SIDE) / plot.width));
  }

  function at(event) {
    const box = svg.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const time_s = range.from_s + shareAt(event) * range.span_s;
    return { x, y, time_s, row: rows.find((row) => y >= row.top && y <= row.bottom) };
  }

  /** Outline the marker that a click would open: the nearest, which is not always the topmost. */
  function outline(id) {
    svg.querySelector(".tl-near")?.classList.remove("tl-near");
    if (id !== null) markerOf(id)?.classList.add("tl-near");
  }

  function leave() {
    if (!plot) return;
    hovered = null;
    hide();
    outline(null);
    now.hidden = true;
    plot.guide.setAttribute("d", "M0 0");
  }

  function point(event) {
    hovered = event;
    const { x, y, time_s, row } = at(event);
    const nearby = current.imageNear?.(time_s);
    const content = row?.tipAt?.(time_s, x, y) ?? (nearby && { title: clock(time_s), text: "" });
    isForFocus = false;
    if (content) show({ nearby, ...content }, x, row?.top ?? y, row?.bottom ?? y);
    else hide();
    const frame = row?.frameAt?.(time_s, x, y);
    svg.classList.toggle("tl-clickable", Boolean(frame) || Boolean(current.onSeek));
    svg.classList.toggle("tl-grab", isPanned(y));
    outline(frame?.id ?? null);
    const line = plot.x(time_s);
    plot.guide.setAttribute("d", `M${line} 0V${plot.axisTop}`);
    now.hidden = false;
    now.textContent = clock(time_s);
    now.style.top = `${plot.axisTop + 1}px`;
    now.style.left = `${Math.max(0, Math.min(plot.outer - now.offsetWidth, line - now.offsetWidth / 2))}px`;
  }
  listenToWheel(svg, range, (event) => at(event).time_s, rangeChanged);
  listenToKeys(root, zoom);
  const pinch = listenToPinch(svg, range, shareAt, rangeChanged);
  // Dragging on the axis pans; elsewhere it chooses a part of the video.
  let pressed = null; // {x, time_s, from_s, isPan} where a drag may begin
  let isDragged = false;
  const isPanned = (y) => y >= plot.axisTop && !range.isWhole;
  svg.addEventListener("pointerdown", (event) => {
    isDragged = pinch.isPinched();
    const start = at(event);
    const isPan = isPanned(start.y);
    const canDrag = event.button === 0 && !isDragged && (isPan || current.onWindow);
    pressed = canDrag ? { ...start, from_s: range.from_s, isPan } : null;
    point(event);
  });
  svg.addEventListener("pointermove", (event) => {
    point(event);
    const { x, time_s } = at(event);
    if (pinch.isPinched()) pressed = null;
    const least = event.pointerType === "touch" ? TOUCH_DRAG_PIXELS : DRAG_PIXELS;
    if (!pressed || (!isDragged && Math.abs(x - pressed.x) < least)) return;
    if (!isDragged) svg.setPointerCapture(event.pointerId);
    isDragged = true;
    if (pressed.isPan) {
      rangeChanged(range.set(pressed.from_s - ((x - pressed.x) / plot.width) * range.span_s, range.span_s));
      return;
    }
    const [left, right] = [pressed.time_s, time_s].sort((a, b) => a - b).map((one) => plot.x(one));
    plot.chosen.setAttribute("d", `M${left} 0H${right}V${plot.axisTop}H${left}z`);
  });
  const endDrag = (event) => {
    if (plot) plot.chosen.setAttribute("d", "M0 0");
    const from = pressed;
    pressed = null;
    if (!from || from.isPan || !isDragged || event.type === "pointercancel") return;
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

  const frameWith = (id) =>
    plot.data.lanes.flatMap((lane) => lane.frames).find((frame) => String(frame.id) === String(id));
  const frameOf = (marker) => marker && frameWith(marker.dataset.frame);

  function focus(id) {
    const frame = frameWith(id);
    if (frame) reveal(frame.time_s);
    const marker = markerOf(id);
    if (!marker) return;
    makeTabStop(marker);
    marker.focus();
  }

  function open(id) {
    const frame = frameWith(id);
    focus(id);
    leave();
    current.onFrame?.(id, frame);
  }

  const framesOf = (lane) => [...lane.frames].sort((a, b) => a.time_s - b.time_s);

  /** The frame that an arrow key goes to from a marker: in its lane, or the closest in time in the next one. */
  function frameBeside(marker, key) {
    const { lanes } = plot.data;
    const lane = lanes.findIndex((one) => one.key === marker.dataset.lane);
    const frames = framesOf(lanes[lane]);
    const k = frames.findIndex((frame) => String(frame.id) === marker.dataset.frame);
    const sideways = { ArrowLeft: k - 1, ArrowRight: k + 1, Home: 0, End: frames.length - 1 };
    if (key in sideways) return frames[sideways[key]];
    const others = framesOf(lanes[lane + (key === "ArrowUp" ? -1 : 1)] ?? { frames: [] });
    return others[nearest(others, frames[k].time_s, (frame) => frame.time_s)];
  }

  const ARROWS = ["ArrowLeft", "ArrowRight", "Home", "End", "ArrowUp", "ArrowDown"];
  svg.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const marker = event.target.closest?.(".tl-marker");
    if (!marker) return;
    if (event.key === "Enter" || event.key === " ") open(marker.dataset.frame);
    else if (ARROWS.includes(event.key)) focus(frameBeside(marker, event.key)?.id ?? marker.dataset.frame);
    else return;
    event.preventDefault();
  });
  // On the parent: in Chromium an SVG element that listens for focus becomes a tab stop.
  root.addEventListener("focusin", (event) => {
    const marker = event.target.closest(".tl-marker");
    if (!marker?.matches(":focus-visible")) return;
    const frame = frameOf(marker);
    const box = marker.getBoundingClientRect();
    const top = svg.getBoundingClientRect().top;
    showForFocus(frameTip(frame), plot.x(frame.time_s), box.top - top - 6, box.bottom - top + 6);
  });
  root.addEventListener("focusout", () => isForFocus && hide());

  function drawMark() {
    svg.querySelector(".tl-marked")?.classList.remove("tl-marked");
    if (marked !== null) markerOf(marked)?.classList.add("tl-marked");
  }

  function mark(id) {
    marked = id;
    const frame = plot && id !== null && frameWith(id);
    if (!frame || !reveal(frame.time_s)) drawMark();
  }

  function drawPlayhead() {
    const isVisible = played_s !== null && range.has(played_s);
    const x = isVisible ? Math.round(plot.x(played_s) * 10) / 10 : 0;
    plot.head.setAttribute("d", isVisible ? `M${x} 0V${plot.axisTop}` : "M0 0");
  }

  /** Show the playback position, which stays in view unless the timeline was panned away from it. */
  function playing(time_s) {
    const before_s = played_s;
    played_s = time_s;
    if (!plot) return;
    const isJump = time_s !== null && Math.abs(time_s - (before_s ?? 0)) > JUMP_S;
    const wasInView = before_s !== null && range.has(before_s);
    if (time_s === null || !(isJump || wasInView) || !reveal(time_s)) drawPlayhead();
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
      redrawWhenReleased();
    },
    mark,
    playing,
    focus,
    zoom,
    canZoom: () => range.canZoom,
    destroy() {
      observer.disconnect();
      cancelAnimationFrame(redrawRequest);
      document.removeEventListener("pointerdown", leaveIfOutside);
      root.remove();
    },
  };
}

globalThis.framesift.drawTimeline = drawTimeline;
