// Moments found by a search, on both pages: stretches, grouped by video; a slider hides weak ones.
import { counted, el, find, get, linkButton, redraw, request } from "./common.js";
import { clock } from "./shared.js";

const FEW = 6; // shown at first, so that what is below stays in view
const AROUND_S = 3; // of a short moment in its clip, on each side
const SHORT_S = 2;
const MAX_CLIP_S = 600;

export const momentUrl = (video, time_s) => `${location.origin}/video/${video}?t=${+time_s.toFixed(1)}`;

/** Copy a text; where the page has no clipboard, as over plain HTTP, by a selection. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = el("textarea", { className: "hidden", value: text });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  return field.remove();
}

/** A button that copies a text and says so. */
export const copyButton = (label, name, textOf) =>
  linkButton(label, name, async ({ currentTarget }) => {
    await copy(textOf());
    currentTarget.focus({ preventScroll: true });
    currentTarget.textContent = "Copied";
    setTimeout(() => {
      currentTarget.textContent = label;
    }, 2000);
  });

/** What can be done with a moment of a video: `about` has time_s, start_s and end_s; onLike(video, time_s). */
export function momentActions(video, { time_s, start_s, end_s }, onLike) {
  const more_s = end_s - start_s < SHORT_S ? AROUND_S : 0;
  const from_s = Math.max(0, start_s - more_s);
  const part = new URLSearchParams({ from_s, to_s: Math.min(end_s + more_s, from_s + MAX_CLIP_S) });
  const at = clock(time_s);
  const clip = `/api/videos/${video}/clip?${part}`;
  return [
    linkButton("More like this", `More like this: the frame at ${at}`, () => onLike(video, time_s)),
    el("a", { className: "link", href: clip, download: "", "aria-label": `Clip around ${at}` }, "Clip"),
    copyButton("Copy link", `Copy link to ${at}`, () => momentUrl(video, time_s)),
  ];
}

export class Moments {
  /** own: the video of the page, whose moments onPlay(time_s, url) plays; onShown(query) is told what is shown, or null. */
  constructor({ own = "", onPlay, onShown = () => {} } = {}) {
    Object.assign(this, { own, onPlay, onShown, query: null });
  }

  /** Search for a query: {text, by}, {like: video, at_s}, or {file}; `video`: only in this one. */
  async search(query, isFinal = false) {
    this.running?.abort();
    this.running = new AbortController();
    const isNew = query?.like !== this.query?.like || query?.at_s !== this.query?.at_s || !query?.like;
    Object.assign(this, { query, found: null, problem: "", all: false });
    if (isNew) this.least = query?.text ? 0 : 10;
    this.onShown(query);
    this.draw();
    if (!query) return;
    const { file, ...fields } = query;
    const { signal } = this.running;
    const url = `/api/search?${new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ""))}`;
    try {
      const found = file
        ? await (await request(url, { method: "POST", body: file, signal })).json()
        : await get(url, { signal });
      const isItself = (one) => one.video === query.like && one.start_s <= query.at_s && query.at_s <= one.end_s;
      this.found = query.like ? found.filter((one) => !isItself(one)) : found;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.problem = error.message;
    }
    this.draw();
    if (isFinal) find("found").scrollIntoView({ block: "nearest" });
  }

  like(video, at_s, within = this.own) {
    this.search({ like: video, at_s: Number(at_s), video: within }, true);
    find("search-status").focus({ preventScroll: true });
  }

  /** What is found, in words; best: how many are shown. */
  status(count) {
    const { query, found, problem } = this;
    const source = query.file
      ? ` like ${query.file.name}`
      : query.like
        ? ` like the frame at ${clock(query.at_s)}`
        : "";
    if (problem) return problem;
    if (!found) return `Searching for moments${source} …`;
    if (!found.length && !source) return "Nothing was found: no indexed video has such text or frames.";
    const hidden = found.length - count;
    return `${counted(count, "moment")}${source}, best first${hidden ? `; ${hidden} weaker hidden` : ""}`;
  }

  hit(one) {
    const words = this.query.text ? { find: this.query.text } : {};
    const href = `/video/${one.video}?${new URLSearchParams({ t: one.time_s.toFixed(1), ...words })}`;
    const play = (event) => {
      event.preventDefault();
      this.onPlay(one.time_s, one.image);
    };
    const span = one.end_s - one.start_s < 1 ? clock(one.time_s) : `${clock(one.start_s)} – ${clock(one.end_s)}`;
    const image = el("img", { src: one.image, alt: "", loading: "lazy", onerror: ({ target }) => target.remove() });
    const like = (video, time_s) => this.like(video, time_s);
    const title = el("a", { href, onclick: one.video === this.own ? play : null }, span);
    return el(
      "li",
      { key: `${one.video} ${one.time_s}`, className: "video-card" },
      el("div", { className: "thumb" }, image),
      el(
        "div",
        { className: "about" },
        el("h4", {}, title, one.stands_out ? "" : el("span", { className: "fine" }, " · weak match")),
        one.event ? el("p", { className: "fine quote", dir: "auto" }, `\u201c${one.event.text}\u201d`) : "",
        el("p", { className: "actions" }, momentActions(one.video, one, like)),
      ),
    );
  }

  /** The slider, and for a frame where to search. */
  controls() {
    const { query } = this;
    const scopes = [
      ["", "all videos"],
      [query.like, query.like === this.own ? "this video" : "the frame's video"],
    ];
    const where = el(
      "select",
      { value: query.video ?? "", onchange: ({ target }) => this.search({ ...query, video: target.value }) },
      scopes.map(([value, label]) => el("option", { value, selected: value === (query.video ?? "") }, label)),
    );
    const slide = ({ target }) => {
      this.least = Number(target.value);
      this.draw();
    };
    const value = String(this.least);
    const slider = el("input", { type: "range", id: "least", min: 0, max: 100, step: 5, value, oninput: slide });
    return el(
      "div",
      { className: "row tight controls-line" },
      query.like ? el("label", { className: "order fine" }, "In ", where) : "",
      el("label", { className: "order fine" }, "Hide weak ones ", slider),
    );
  }

  draw() {
    find("found").hidden = !this.query;
    if (!this.query) return redraw(find("found"));
    const found = this.found ?? [];
    const shown = found.filter((one) => 100 * one.strength >= this.least);
    const groups = Map.groupBy(this.all ? shown : shown.slice(0, FEW), (one) => one.video);
    const isWeak = this.found && !found.some(({ stands_out }) => stands_out);
    const note = this.query.text
      ? "Nothing here matches well: the frames and the text score no higher than for unrelated questions."
      : "No other frame looks much like it.";
    const toggle = () => {
      this.all = !this.all;
      this.draw();
    };
    const more = this.all ? "Show fewer" : `Show all ${shown.length}`;
    return redraw(
      find("found"),
      el(
        "div",
        { className: "row apart" },
        el("p", { id: "search-status", className: "fine", role: "status", tabIndex: -1 }, this.status(shown.length)),
        linkButton("Close", "Close the search", () => this.close(), { id: "close-search" }),
      ),
      found.length ? this.controls() : "",
      isWeak && (found.length || !this.query.text) ? el("p", { id: "search-note", className: "no-match" }, note) : "",
      el(
        "ul",
        { id: "moments" },
        [...groups].map(([video, hits]) =>
          el(
            "li",
            { key: video },
            el("h3", {}, el("bdi", {}, hits[0].name)),
            el(
              "ul",
              { className: "hits" },
              hits.map((one) => this.hit(one)),
            ),
          ),
        ),
      ),
      shown.length > FEW
        ? linkButton(more, undefined, toggle, { id: "all-moments", "aria-expanded": String(this.all) })
        : "",
    );
  }

  close() {
    const focusBack = this.opener;
    this.search(null);
    focusBack?.focus({ preventScroll: true });
  }
}
