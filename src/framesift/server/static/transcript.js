// The transcript: the video's timestamped text as a list that can be searched, played from and downloaded, and captions.
import { counted, el, find, get, redraw } from "./common.js";
import { clock } from "./shared.js";

const MAX_LINES = 5000; // drawn at a time

/** Matches the words of a search in their order, in any case, whatever punctuation is between them. */
function patternOf(search) {
  const words = search.split(/[\s\p{P}]+/u).filter(Boolean);
  const escaped = (words.length ? words : [search]).map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`(${escaped.join("[\\s\\p{P}]+")})`, "iu");
}

/** The text, with the parts that match a search marked. */
const marked = (text, pattern) => text.split(pattern).map((part, k) => (k % 2 ? el("mark", {}, part) : part));

export class Transcript {
  /** onPlay(time_s) plays from a line. */
  constructor(id, onPlay) {
    this.url = `/api/videos/${id}/events`;
    this.onPlay = onPlay;
    this.events = [];
    this.loaded = ""; // version of the text shown
    this.lines = new Map(); // of the list, by position among the events
    this.current = null;
    this.track = null;
    find("transcript-search").addEventListener("input", () => this.draw());
    find("transcript").addEventListener("toggle", () => this.draw());
    find("captions").addEventListener("change", () => this.showCaptions());
  }

  /** Load the text of a video, again when it has changed. */
  async load({ ready, version, words }) {
    const text = JSON.stringify([version, words]);
    if (!ready || text === this.loaded) return;
    this.loaded = text;
    this.events = words.events ? await get(this.url) : [];
    find("transcript").hidden = !this.events.length;
    find("transcript-count").textContent = counted(this.events.length, "line");
    for (const link of find("transcript").querySelectorAll("a[download]"))
      link.href = `${this.url}?format=${link.textContent.slice(1)}`;
    this.addTrack(version);
    this.draw();
  }

  addTrack(version) {
    this.track?.remove();
    this.track = null;
    if (!this.events.length) return;
    const src = `${this.url}?format=vtt&v=${version}-${this.events.length}`;
    this.track = el("track", { kind: "captions", label: "Transcript", src });
    find("video").append(this.track);
    this.showCaptions();
  }

  showCaptions() {
    if (this.track) this.track.track.mode = find("captions").checked ? "showing" : "disabled";
  }

  draw() {
    if (!find("transcript").open) return;
    const search = find("transcript-search").value.trim();
    const pattern = search && patternOf(search);
    const fits = this.events.map((event, k) => [k, event]).filter(([, { text }]) => !search || pattern.test(text));
    this.lines.get(this.current)?.removeAttribute("aria-current");
    const shown = fits.slice(0, MAX_LINES);
    redraw(find("transcript-list"), ...shown.map(([, event]) => this.line(event, pattern)));
    this.lines = new Map(shown.map(([k], position) => [k, find("transcript-list").children[position]]));
    const more = fits.length > MAX_LINES ? `; the first ${MAX_LINES.toLocaleString("en")} are shown` : "";
    find("transcript-status").textContent = search || more ? `${counted(fits.length, "line")} found${more}` : "";
    this.light(this.current);
  }

  line({ start_s, text }, pattern) {
    const time = el("span", { className: "time" }, clock(start_s));
    const words = el("span", { dir: "auto" }, pattern ? marked(text, pattern) : text);
    return el(
      "li",
      { key: start_s },
      el("button", { type: "button", className: "transcript-line", onclick: () => this.onPlay(start_s) }, time, words),
    );
  }

  /** Light the line that is being said, or the last one said. */
  playing(time_s) {
    const at = time_s === null ? -1 : this.events.findLastIndex((event) => event.start_s <= time_s);
    if (at !== this.current) this.light(at);
  }

  light(at) {
    this.lines.get(this.current)?.removeAttribute("aria-current");
    this.current = at;
    const line = this.lines.get(at);
    if (!line) return;
    line.setAttribute("aria-current", "true");
    // Scroll the list only, and not under a pointer or while it is searched.
    const list = find("transcript-list");
    if (list.matches(":hover") || find("transcript-search").value) return;
    list.scrollTop = line.offsetTop - list.offsetTop - list.clientHeight / 3;
  }
}
