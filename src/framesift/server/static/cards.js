// The chosen frames as cards, one strip per method, each with its reasons.
import { el } from "./common.js";
import { clock, markerPath, svgElement } from "./shared.js";

export function rolePill(role, meaning = "") {
  const svg = svgElement("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" });
  svgElement("path", { d: markerPath(role, 6.5) }, svg);
  return el("span", { className: `role role-${role}`, title: meaning }, svg, role);
}

/** A frame's picture, with the band that the reader would see on it. */
function shot(frame, textMode) {
  const picture = el("img", {
    src: frame.picture,
    width: frame.width,
    height: frame.height,
    alt: frame.alt,
    loading: "lazy",
    decoding: "async",
    onload: (event) => event.target.parentNode.classList.remove("loading"),
    onerror: (event) => event.target.replaceWith(el("span", { className: "lost" }, "This picture did not come.")),
  });
  const banded = textMode === "blank" ? Boolean(frame.words) : Boolean(frame.text);
  const band = banded ? el("span", { className: "band", dir: "auto", "aria-hidden": "true" }, textMode === "blank" ? " " : frame.text) : "";
  return el("span", { className: "shot loading" }, picture, band);
}

function near(one, onPlay) {
  const press = () => onPlay(one.time_s, one.picture);
  const picture = el("img", { src: one.picture, alt: "", loading: "lazy", onerror: (event) => event.target.remove() });
  return el("li", {}, el("button", { type: "button", className: "open", "aria-label": `Play from ${clock(one.time_s)}`, onclick: press }, picture), el("div", {}, el("strong", {}, clock(one.time_s)), el("p", { dir: "auto" }, one.sentence)));
}

function story(frame, also, onPlay) {
  const box = el("details", { className: "why-box" }, el("summary", { "aria-label": `Why frame ${frame.number}` }, "Why this frame"));
  // Filled when opened: the pictures of what was nearly chosen are then worth fetching.
  box.addEventListener(
    "toggle",
    () => {
      const parts = [el("ul", { className: "why" }, frame.why.map((sentence) => el("li", { dir: "auto" }, sentence)))];
      if (frame.nearly.length) parts.push(el("h4", {}, "Nearly chosen"), el("ul", { className: "alternatives" }, frame.nearly.map((one) => near(one, onPlay))));
      const facts = `Frame ${frame.frame} of the video, at ${frame.clock}. Relevance ${frame.relevance.toFixed(4)}.`;
      parts.push(el("p", { className: "fine" }, facts, also ? ` Also chosen by ${also}.` : ""));
      box.append(...parts);
    },
    { once: true },
  );
  return box;
}

function card(frame, also, { textMode, roles, onPlay }) {
  const label = [`Play from ${clock(frame.time_s)}: frame ${frame.number}, ${frame.role}`, frame.words, frame.why[0]].filter(Boolean).join(". ");
  // Words that are on the picture need not stand beside it as well.
  const words = frame.words && frame.words !== frame.text ? frame.words : "";
  return el(
    "li",
    { className: `card role-${frame.role}`, "data-frame": frame.id, tabIndex: -1 },
    el(
      "button",
      { type: "button", className: "open", "aria-label": label, onclick: () => onPlay(frame.time_s, frame.picture, frame.id) },
      shot(frame, textMode),
      el("span", { className: "line" }, el("span", { className: "number" }, String(frame.number)), el("span", { className: "time" }, clock(frame.time_s)), rolePill(frame.role, roles[frame.role])),
      words ? el("span", { className: "event-text", dir: "auto" }, words) : "",
      el("span", { className: "reason", dir: "auto" }, frame.why[0] ?? ""),
      also ? el("span", { className: "also" }, `also in ${also}`) : "",
    ),
    story(frame, also, onPlay),
  );
}

/** All lanes side by side. order: "rank" or "time"; roles: what each means; onPlay(time_s, picture, id) for a press. */
export function drawLanes(box, lanes, shown) {
  const holders = new Map();
  for (const lane of lanes) for (const frame of lane.frames) holders.set(frame.frame, [...(holders.get(frame.frame) ?? []), lane.method]);
  const sorted = (lane) => (shown.order === "rank" ? [...lane.frames].sort((a, b) => a.rank - b.rank) : lane.frames);
  const strips = lanes.map((lane) => {
    const also = (frame) => holders.get(frame.frame).filter((method) => method !== lane.method).join(", ");
    const tall = lane.frames.some((frame) => frame.height > frame.width) ? " tall" : "";
    const notes = lane.notes.filter(Boolean).map((note) => el("li", { dir: "auto" }, note));
    return el(
      "section",
      { className: "strip-of", "aria-label": `Frames chosen by ${lane.method}` },
      lanes.length > 1 ? el("h3", {}, lane.method, el("span", { className: "count" }, `${lane.frames.length} frames`)) : "",
      el("ol", { className: `frames${tall}` }, sorted(lane).map((frame) => card(frame, also(frame), shown))),
      notes.length ? el("ul", { className: "notes" }, notes) : "",
    );
  });
  box.className = lanes.length > 1 ? "lanes several" : "lanes";
  box.replaceChildren(...strips);
}

/** Show which card is playing. */
export function markCard(box, id) {
  for (const one of box.querySelectorAll(".card.now")) one.classList.remove("now");
  if (id) box.querySelector(`[data-frame="${CSS.escape(id)}"]`)?.classList.add("now");
}
