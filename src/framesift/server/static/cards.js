// The selected frames as cards, one lane per method, each with its reasons.
import { counted, el, linkButton, redraw } from "./common.js";
import { momentActions } from "./moments.js";
import { clock, markerPath, roleName, svgElement } from "./shared.js";

export function rolePill(role) {
  const svg = svgElement("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" });
  svgElement("path", { d: markerPath(role, 6.5) }, svg);
  return el("span", { className: `role role-${role}` }, svg, roleName(role));
}

/** A frame with the text band that a reader sees on it. */
function frameImage(frame, textMode) {
  const image = el("img", {
    src: frame.image,
    width: frame.width,
    height: frame.height,
    alt: frame.alt,
    loading: "lazy",
    decoding: "async",
    onload: (event) => event.target.closest(".shot")?.classList.remove("loading"), // if it was put into the page
    onerror: (event) =>
      event.target.replaceWith(el("span", { className: "image-error" }, "This frame could not be loaded.")),
  });
  const hasBand = textMode === "blank" ? Boolean(frame.words) : Boolean(frame.text);
  const band = hasBand ? el("span", { className: "band", dir: "auto" }, textMode === "blank" ? " " : frame.text) : "";
  return el("span", { className: "shot loading" }, image, band);
}

function alternative(one, onPlay) {
  const play = () => onPlay(one.time_s, one.image);
  const image = el("img", { src: one.image, alt: "", loading: "lazy", onerror: (event) => event.target.remove() });
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", className: "open", "aria-label": `Play from ${clock(one.time_s)}`, onclick: play },
      image,
    ),
    el("div", {}, el("strong", {}, clock(one.time_s)), el("p", { dir: "auto" }, one.sentence)),
  );
}

function reasons(frame, also, onPlay) {
  const summary = () => el("summary", { "aria-label": `Why? Frame ${frame.number}` }, "Why?");
  // Filled when opened, so that the alternatives are only fetched then.
  const ontoggle = ({ target }) => {
    const why = frame.why.map((sentence) => el("li", { dir: "auto" }, sentence));
    const alternatives = frame.nearly.map((one) => alternative(one, onPlay));
    const facts = `Frame ${frame.frame} of the video, at ${frame.clock}.`;
    redraw(
      target,
      summary(),
      el("ul", { className: "why" }, why),
      el("p", { className: "fine", dir: "auto" }, frame.details.join(" ")),
      alternatives.length ? el("h3", {}, "Alternatives") : "",
      alternatives.length ? el("ul", { className: "alternatives" }, alternatives) : "",
      el("p", { className: "fine" }, facts, also ? ` Also selected by ${also}.` : ""),
    );
  };
  return el("details", { className: "reasons", ontoggle }, summary());
}

/** Buttons that pin or unpin a frame, or remove it: onEdit(time_s, isRemoved). */
function editButtons({ time_s }, { pinned_s, onEdit }) {
  const isPinned = pinned_s.includes(time_s);
  const at = `the frame at ${clock(time_s)}`;
  return [
    linkButton(isPinned ? "Pinned" : "Pin", `Pin ${at}`, () => onEdit(time_s, false), {
      "aria-pressed": String(isPinned),
    }),
    linkButton("Remove", `Remove ${at}`, () => onEdit(time_s, true)),
  ];
}

function card(frame, also, options) {
  const { video, textMode, onPlay, onLike } = options;
  const name = `frame ${frame.number}, ${roleName(frame.role)}${frame.damaged ? ", damaged" : ""}`;
  // Text that is on the frame is not repeated below it.
  const isQuoted = frame.role === "ground"; // by its reason
  const text = frame.words && frame.words !== frame.text && !isQuoted ? frame.words : "";
  return el(
    "li",
    {
      key: frame.frame,
      className: `card role-${frame.role}`,
      "data-frame": frame.id,
      "aria-label": name,
      tabIndex: -1,
    },
    el(
      "button",
      { type: "button", className: "open", onclick: () => onPlay(frame.time_s, frame.image, frame.id) },
      el("span", { className: "hidden" }, "Play from "),
      frameImage(frame, textMode),
      el(
        "span",
        { className: "line" },
        el("span", { className: "number" }, String(frame.number)),
        el("span", { className: "time" }, clock(frame.time_s)),
        frame.damaged ? el("span", { className: "damaged" }, "damaged") : "",
        rolePill(frame.role),
      ),
      text ? el("span", { className: "event-text", dir: "auto" }, text) : "",
      el("span", { className: "reason", dir: "auto" }, frame.why[0] ?? ""),
      also ? el("span", { className: "also" }, `also selected by ${also}`) : "",
    ),
    el("p", { className: "actions" }, momentActions(video, frame, onLike)),
    el("p", { className: "actions edits" }, editButtons(frame, options)),
    reasons(frame, also, onPlay),
  );
}

/**
 * Draw all lanes side by side. options: video, order ("strength" or "time"), textMode, pinned_s, onPlay(time_s, url, id),
 * onLike, onEdit.
 */
export function drawLanes(box, lanes, options) {
  const methodsOf = new Map();
  for (const lane of lanes)
    for (const frame of lane.frames) methodsOf.set(frame.frame, [...(methodsOf.get(frame.frame) ?? []), lane.method]);
  const sorted = (lane) =>
    options.order === "strength"
      ? [...lane.frames].sort((a, b) => b.strength - a.strength || a.time_s - b.time_s)
      : lane.frames;
  const sections = lanes.map((lane) => {
    const also = (frame) =>
      methodsOf
        .get(frame.frame)
        .filter((method) => method !== lane.method)
        .join(", ");
    const between = lane.frames.filter(({ role }) => role === "context");
    const fillers = lanes.length === 1 && between.length < lane.frames.length ? between : [];
    const list = (frames) =>
      el(
        "ol",
        { className: `frames${tall}` },
        frames.map((frame) => card(frame, also(frame), options)),
      );
    const tall = lane.frames.some((frame) => frame.height > frame.width) ? " tall" : "";
    const notes = lane.notes.filter(Boolean).map((note) => el("li", { dir: "auto" }, note));
    return el(
      "section",
      { className: "lane", "aria-label": `Frames selected by ${lane.method}` },
      lanes.length > 1
        ? el("h3", {}, lane.method, el("span", { className: "count" }, counted(lane.frames.length, "frame")))
        : "",
      list(sorted(lane).filter((frame) => !fillers.includes(frame))),
      fillers.length
        ? el(
            "details",
            { className: "fillers", key: "fillers" },
            el("summary", {}, `${counted(fillers.length, "more frame")} between these`),
            list(fillers),
          )
        : "",
      notes.length ? el("ul", { className: "notes" }, notes) : "",
    );
  });
  box.className = lanes.length > 1 ? "lanes several" : "lanes";
  redraw(box, ...sections);
  for (const open of box.querySelectorAll(".reasons[open]")) open.dispatchEvent(new Event("toggle"));
}

/** Highlight the card whose frame is playing. */
export function highlightCard(box, id) {
  for (const one of box.querySelectorAll(".card.current")) one.classList.remove("current");
  if (id) box.querySelector(`[data-frame="${CSS.escape(id)}"]`)?.classList.add("current");
}
