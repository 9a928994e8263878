// Zooming a timeline: the part of the video that is visible, the buttons, the overview bar and the gestures that change it.
const { clock, htmlElement } = globalThis.framesift;

const MIN_SPAN_S = 10;
const MIN_DURATION_S = 120; // a shorter video is readable as a whole
const STEP = 1.6; // of a button or key
const ZOOM_KEYS = { "+": "in", "=": "in", "-": "out", 0: "whole" };
const MAX_WHEEL = 60; // pixels of one wheel event that count
const LINE_PIXELS = 20; // of a wheel that counts in lines

/** The visible part of a video. Changes keep it inside the video and at least MIN_SPAN_S long. */
class TimeRange {
  duration_s = 1;
  from_s = 0;
  to_s = 1;

  get span_s() {
    return this.to_s - this.from_s;
  }

  get middle_s() {
    return (this.from_s + this.to_s) / 2;
  }

  get isWhole() {
    return this.span_s >= this.duration_s;
  }

  get canZoom() {
    return this.duration_s > MIN_DURATION_S;
  }

  has(time_s) {
    return time_s >= this.from_s && time_s <= this.to_s;
  }

  /** Show `span_s` seconds from `from_s` on, as far as they are inside the video; whether that is a change. */
  set(from_s, span_s) {
    const before = [this.from_s, this.to_s];
    const span = this.canZoom ? Math.max(MIN_SPAN_S, Math.min(this.duration_s, span_s)) : this.duration_s;
    this.from_s = Math.max(0, Math.min(this.duration_s - span, from_s));
    this.to_s = this.from_s + span;
    return before[0] !== this.from_s || before[1] !== this.to_s;
  }

  /** Take over the length of the video. A part that was zoomed to stays. */
  setDuration(duration_s) {
    const wasWhole = this.isWhole;
    this.duration_s = duration_s;
    this.set(wasWhole ? 0 : this.from_s, wasWhole ? duration_s : this.span_s);
  }

  /** Show `factor` times as much detail; `around_s` stays where it is. */
  zoom(factor, around_s) {
    const share = (around_s - this.from_s) / this.span_s;
    const span_s = Math.max(MIN_SPAN_S, Math.min(this.duration_s, this.span_s / factor));
    return this.set(around_s - share * span_s, span_s);
  }

  /** Zoom by one step "in" or "out", or to the "whole" video. */
  step(direction, around_s) {
    if (direction === "whole") return this.set(0, this.duration_s);
    return this.zoom(direction === "in" ? STEP : 1 / STEP, around_s);
  }

  pan(by_s) {
    return this.set(this.from_s + by_s, this.span_s);
  }

  /** Move to a time unless it is visible. */
  reveal(time_s) {
    return !this.has(time_s) && this.set(time_s - 0.15 * this.span_s, this.span_s);
  }
}

function button(label, text, parent, onclick) {
  const element = htmlElement("button", "tl-button", parent);
  element.type = "button";
  element.textContent = text;
  element.setAttribute("aria-label", label);
  element.addEventListener("click", onclick);
  return element;
}

/** The buttons, above the timeline. onZoom("in", "out" or "whole") changes the range. Returns what updates them. */
function makeButtons(root, range, onZoom) {
  const group = htmlElement("div", "tl-zoom", root);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Zoom of the timeline");
  const status = htmlElement("span", "tl-unseen", group);
  status.setAttribute("role", "status");
  const whole = button("Zoom out to the whole video", "Whole video", group, () => onZoom("whole"));
  const out = button("Zoom out", "−", group, () => onZoom("out"));
  const closer = button("Zoom in", "+", group, () => onZoom("in"));
  return () => {
    group.hidden = !range.canZoom;
    if (range.isWhole && document.activeElement === whole) closer.focus();
    whole.hidden = range.isWhole;
    // `disabled` would drop the focus.
    out.setAttribute("aria-disabled", range.isWhole);
    closer.setAttribute("aria-disabled", range.span_s <= MIN_SPAN_S);
    const text = range.isWhole ? "" : `Showing ${clock(range.from_s)} to ${clock(range.to_s)}`;
    if (status.textContent !== text) status.textContent = text;
  };
}

/** The overview bar, below the timeline: which part is visible; dragged or moved by keys. Returns what updates it. */
function makeOverview(root, range, onChange) {
  const bar = htmlElement("div", "tl-overview", root);
  const thumb = htmlElement("div", "tl-thumb", bar);
  for (const [name, value] of Object.entries({ role: "slider", "aria-label": "Visible part of the video" }))
    bar.setAttribute(name, value);
  let grabbed_s = null; // where the thumb was taken, from its start
  const timeAt = (event) => {
    const box = bar.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width) * range.duration_s;
  };
  bar.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || range.isWhole) return;
    const time_s = timeAt(event);
    grabbed_s = range.has(time_s) ? time_s - range.from_s : range.span_s / 2;
    bar.setPointerCapture(event.pointerId);
    onChange(range.set(time_s - grabbed_s, range.span_s));
  });
  bar.addEventListener("pointermove", (event) => {
    if (grabbed_s !== null) onChange(range.set(timeAt(event) - grabbed_s, range.span_s));
  });
  for (const name of ["pointerup", "pointercancel"])
    bar.addEventListener(name, () => {
      grabbed_s = null;
    });
  bar.addEventListener("keydown", (event) => {
    const shares = { ArrowLeft: -0.1, ArrowRight: 0.1, ArrowDown: -0.1, ArrowUp: 0.1, PageDown: -0.9, PageUp: 0.9 };
    const ends = { Home: -1, End: 1 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in shares) onChange(range.pan(shares[event.key] * range.span_s));
    else if (event.key in ends) onChange(range.pan(ends[event.key] * range.duration_s));
    else return;
    event.preventDefault();
  });
  return () => {
    bar.hidden = !range.canZoom;
    bar.tabIndex = range.isWhole ? -1 : 0;
    bar.classList.toggle("tl-whole", range.isWhole);
    thumb.style.left = `${(100 * range.from_s) / range.duration_s}%`;
    thumb.style.width = `${(100 * range.span_s) / range.duration_s}%`;
    bar.setAttribute("aria-valuemin", 0);
    bar.setAttribute("aria-valuemax", Math.round(range.duration_s));
    bar.setAttribute("aria-valuenow", Math.round(range.from_s));
    bar.setAttribute("aria-valuetext", `${clock(range.from_s)} to ${clock(range.to_s)}`);
  };
}

/** Zoom by Ctrl and wheel or by a pinch on a touchpad, pan by a horizontal wheel. timeAt(event), as in the timeline. */
function listenToWheel(element, range, timeAt, onChange) {
  element.addEventListener(
    "wheel",
    (event) => {
      if (!range.canZoom) return;
      const pixels = event.deltaMode ? LINE_PIXELS : 1;
      const [right, down] = [event.deltaX, event.deltaY].map((delta) => delta * pixels);
      const sideways = event.shiftKey && !right ? down : Math.abs(right) > Math.abs(down) ? right : 0;
      if (event.ctrlKey || event.metaKey) {
        const limited = Math.max(-MAX_WHEEL, Math.min(MAX_WHEEL, down));
        onChange(range.zoom(2 ** (-limited / 100), timeAt(event)));
      } else if (sideways && !range.isWhole) onChange(range.pan((sideways / element.clientWidth) * range.span_s));
      else return;
      event.preventDefault();
    },
    { passive: false },
  );
}

/** Two fingers: each stays on its time. Returns {isPinched()}. xAt(event) in 0 … 1, of the timeline's width. */
function listenToPinch(element, range, xAt, onChange) {
  const fingers = new Map(); // by pointer: {x, time_s}
  let isPinched = false; // since the first of the fingers that are down
  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") {
      isPinched = false;
      return;
    }
    if (!fingers.size) isPinched = false;
    fingers.set(event.pointerId, { x: xAt(event) });
    for (const finger of fingers.values()) finger.time_s = range.from_s + finger.x * range.span_s;
    isPinched ||= fingers.size > 1;
  });
  element.addEventListener("pointermove", (event) => {
    const finger = fingers.get(event.pointerId);
    if (!finger) return;
    finger.x = xAt(event);
    const [a, b] = [...fingers.values()].sort((one, other) => one.time_s - other.time_s);
    if (!b || b.x - a.x < 0.02 || b.time_s === a.time_s) return;
    const span_s = (b.time_s - a.time_s) / (b.x - a.x);
    onChange(range.set(a.time_s - a.x * span_s, span_s));
  });
  for (const name of ["pointerup", "pointercancel"])
    element.addEventListener(name, (event) => fingers.delete(event.pointerId));
  return { isPinched: () => isPinched };
}

/** Keys of a timeline that has the focus: plus and minus zoom, 0 shows the whole video. */
function listenToKeys(root, onZoom) {
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in ZOOM_KEYS)) return;
    event.preventDefault();
    onZoom(ZOOM_KEYS[event.key]);
  });
}

Object.assign(globalThis.framesift, {
  TimeRange,
  ZOOM_KEYS,
  listenToKeys,
  listenToPinch,
  listenToWheel,
  makeButtons,
  makeOverview,
});
