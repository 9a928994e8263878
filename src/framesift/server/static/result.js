// The parts of a result around its frames: summary, warnings, legend and notes on the encoder.
import { rolePill } from "./cards.js";
import { counted, el, find, redraw, showMessage } from "./common.js";
import { clock } from "./shared.js";

const ROLE_NOTES = {
  ground: "matches",
  visual: "comes closest",
  context: "the others",
  refined: "left out first",
};
const TALL_WINDOW = 1000; // pixels: enough for the legend's sentences above the frames

/** The lanes of a view as the timeline shows them. */
export const lanesOf = ({ lanes }) =>
  lanes.map((lane) => ({
    ...lane,
    name: lane.method,
    caption: `${lane.method} · ${counted(lane.frames.length, "frame")}`,
  }));

/** Unless half of the first frame is in view, scroll the result up to the player, which stays visible, or farther. */
export function scrollToResult() {
  const shot = find("lanes").querySelector(".shot")?.getBoundingClientRect();
  if (!shot || shot.top + shot.height / 2 <= innerHeight) return;
  const { top } = find("result").getBoundingClientRect();
  scrollBy({ top: Math.max(top - find("player").offsetHeight - 12, shot.bottom + 12 - innerHeight) });
}

/** How many frames were selected, from how many, of which part, and how quickly. */
function summaryOf({ lanes, curve, window }) {
  const counts = lanes.map((lane) => lane.frames.length);
  const count = lanes.length > 1 ? `${lanes.length} × ${Math.max(...counts)}` : counts[0];
  const took = lanes.reduce((sum, lane) => sum + lane.seconds, 0);
  const time = took < 1 ? `${Math.max(1, Math.round(1000 * took))} ms` : `${took.toFixed(1)} s`;
  const [from_s, to_s] = window ?? [0, Infinity];
  const considered = curve.times_s.filter((time_s) => time_s >= from_s && time_s <= to_s).length;
  const part = window ? ` from ${clock(from_s)} to ${clock(to_s)}` : "";
  return `${count} of ${counted(considered, "frame")}${part} in ${time}.`;
}

/** The warnings about the video, folded to one line so that the frames stay in view; "" without any. */
export function foldedWarnings(warnings) {
  if (!warnings.length) return "";
  const title = warnings.length === 1 ? "Warning" : `${warnings.length} warnings`;
  const items = warnings.map((warning) => el("li", { dir: "auto" }, warning));
  const first = el("bdi", { className: "first-warning" }, warnings[0]);
  return el(
    "details",
    { className: "warnings" },
    el("summary", {}, el("b", {}, `${title}: `), first),
    el("ul", {}, items),
  );
}

/** Explain the roles that occur: in two or three words each, and in a sentence when unfolded. */
function drawLegend(lanes, roles) {
  const used = new Set(lanes.flatMap((lane) => lane.frames.map((frame) => frame.role)));
  const shown = Object.entries(roles).filter(([role]) => used.has(role));
  redraw(find("legend"), ...shown.map(([role, sentence]) => el("li", {}, rolePill(role), el("p", {}, sentence))));
  redraw(
    find("legend-roles"),
    ...shown.map(([role]) => el("span", { className: "legend-role" }, rolePill(role), ` ${ROLE_NOTES[role] ?? ""}`)),
  );
}

/** Unfold the legend's sentences where there is space for them. */
export function openLegend() {
  find("legend-box").open = innerHeight >= TALL_WINDOW;
}

/** Explain the limits of the offline encoder. */
function drawEncoderNotes(encoder, question) {
  const isOffline = encoder.startsWith("offline");
  showMessage(
    find("encoder"),
    isOffline &&
      "Selected with the offline encoder, which needs no download but is weak on people and actions. SigLIP finds more, once it is installed.",
  );
  const isOtherScript = /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]/u.test(question);
  showMessage(
    find("language"),
    isOffline && isOtherScript && "The offline encoder only understands English. SigLIP 2 supports many languages.",
  );
}

/** Draw what is above and below the frames of a view. */
export function drawAroundFrames(view, { roles, encoder }, question) {
  find("summary").textContent = summaryOf(view);
  redraw(find("partial"), view.partial, el("span", {}, " The frames are updated as more is indexed."));
  find("partial").hidden = !view.partial;
  showMessage(find("match"), !view.partial && view.note); // more of the video may match
  redraw(find("warnings"), foldedWarnings(view.warnings));
  drawLegend(view.lanes, roles);
  drawEncoderNotes(encoder, question);
}
