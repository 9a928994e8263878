// Moments found by a search or selected for a question, on both pages: stretches, grouped by video; a slider hides weak ones.
import { counted, el, find, get, linkButton, post, redraw, request } from "./common.js";
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

/** What is found for a query, under `frames`; the reply to a question has more. */
async function load({ ask, file, ...fields }, reader, signal) {
  if (ask) {
    const reply = await post("/api/ask", { question: ask, videos: fields.video, reader }, { signal });
    return { ...reply, frames: reply.frames.sort((a, b) => b.strength - a.strength) };
  }
  const parameters = Object.entries(fields).flatMap(([name, values]) => [values].flat().map((value) => [name, value]));
  const url = `/api/search?${new URLSearchParams(parameters)}`;
  const found = file
    ? await (await request(url, { method: "POST", body: file, signal })).json()
    : await get(url, { signal });
  const isItself = ({ video, start_s, end_s }) =>
    video === fields.like && start_s <= fields.at_s && fields.at_s <= end_s;
  return { frames: found.filter((one) => !isItself(one)) };
}

export class Moments {
  /**
   * own: the video of the page, whose moments onPlay(time_s, url) plays; onShown(query) gets what is shown, or null;
   * drawAnswer(reply, asked) draws what is above the frames of a question, `asked` the reader that is waited for.
   */
  constructor({ own = "", onPlay, onShown = () => {}, drawAnswer } = {}) {
    Object.assign(this, { own, onPlay, onShown, drawAnswer, query: null });
    this.marked = new Set(); // the videos to search in; all without any
    find("search-image").addEventListener("change", ({ target }) => {
      this.searchImage([...target.files]);
      target.value = ""; // so that the same file can be chosen again
    });
  }

  get scope() {
    return this.own ? [this.own] : [...this.marked];
  }

  /** Search for a query: {text, by}, {like: video, at_s}, {file} or {ask: question}; `video`: only in these. */
  async search(query, isFinal = false) {
    const isNew = ["text", "like", "at_s", "file", "ask"].some((name) => query?.[name] !== this.query?.[name]);
    Object.assign(this, { query, reply: null, all: false });
    if (isNew) this.least = query?.like || query?.file ? 10 : 0;
    this.onShown(query);
    await this.run();
    if (query && isFinal && query === this.query) find("found").scrollIntoView({ block: "nearest" });
  }

  /** Load what the query asks for, with a reader its answer. */
  async run(reader = "") {
    this.running?.abort();
    const running = new AbortController();
    Object.assign(this, { running, problem: "", asked: reader });
    this.draw();
    if (!this.query) return;
    try {
      this.reply = await load(this.query, reader, running.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.problem = error.message;
    }
    this.asked = "";
    this.draw();
  }

  /** Search for an image if the files are one; whether they are. */
  searchImage(files) {
    const isImage = files.length === 1 && files[0].type.startsWith("image/");
    if (isImage) this.search({ file: files[0], video: this.scope }, true);
    return isImage;
  }

  like(video, at_s) {
    this.search({ like: video, at_s: Number(at_s), video: this.scope }, true);
    find("search-status").focus({ preventScroll: true });
  }

  /** What is found, in words; count: how many are shown. */
  status(count) {
    const { query, problem } = this;
    const found = this.reply?.frames;
    const source = query.file
      ? ` like ${query.file.name}`
      : query.like
        ? ` like the frame at ${clock(query.at_s)}`
        : "";
    if (problem) return problem;
    if (query.ask) {
      if (!found) return "Selecting frames …";
      const videos = new Set(found.map(({ video }) => video));
      return `${counted(count, "frame")} of ${counted(videos.size, "video")}, strongest first`;
    }
    if (!found) return `Searching for moments${source} …`;
    if (!found.length && !source) return "Nothing was found: no indexed video has such text or frames.";
    const hidden = found.length - count;
    return `${counted(count, "moment")}${source}, best first${hidden ? `; ${hidden} weaker hidden` : ""}`;
  }

  hit(one) {
    const typed = this.query.text ?? this.query.ask;
    const words = typed ? { find: typed } : {};
    const href = `/video/${one.video}?${new URLSearchParams({ t: one.time_s.toFixed(1), ...words })}`;
    const play = (event) => {
      event.preventDefault();
      this.onPlay(one.time_s, one.image);
    };
    const span =
      one.why || one.end_s - one.start_s < 1 ? clock(one.time_s) : `${clock(one.start_s)} – ${clock(one.end_s)}`;
    const image = el("img", { src: one.image, alt: "", loading: "lazy", onerror: ({ target }) => target.remove() });
    const like = (video, time_s) => this.like(video, time_s);
    const said = one.why?.[0] ?? (one.event && `\u201c${one.event.text}\u201d`);
    const title = el("a", { href, onclick: one.video === this.own ? play : null }, span);
    return el(
      "li",
      { key: `${one.video} ${one.time_s}`, className: "video-card" },
      el("div", { className: "thumb" }, image),
      el(
        "div",
        { className: "about" },
        el("h4", {}, title, one.why || one.stands_out ? "" : el("span", { className: "fine" }, " · weak match")),
        said ? el("p", { className: "fine quote", dir: "auto" }, said) : "",
        el("p", { className: "actions" }, momentActions(one.video, one, like)),
      ),
    );
  }

  /** The slider, and for a frame or an image where to search. */
  controls() {
    const { query } = this;
    const one = this.own || query.like;
    const scopes = [["all videos", []]];
    if (one) scopes.push([one === this.own ? "this video" : "the frame's video", [one]]);
    if (this.marked.size) scopes.push(["the marked videos", [...this.marked]]);
    const where = el(
      "select",
      { onchange: ({ target }) => this.search({ ...query, video: scopes[target.value][1] }) },
      scopes.map(([label, videos], value) =>
        el("option", { value, selected: String(videos) === String(query.video) }, label),
      ),
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
      scopes.length > 1 && !query.text ? el("label", { className: "order fine" }, "In ", where) : "",
      el("label", { className: "order fine" }, "Hide weak ones ", slider),
    );
  }

  draw() {
    find("found").hidden = !this.query;
    if (!this.query) return redraw(find("found"));
    const { query, reply } = this;
    const found = reply?.frames ?? [];
    const shown = found.filter((one) => 100 * one.strength >= this.least);
    const groups = Map.groupBy(this.all ? shown : shown.slice(0, FEW), (one) => one.video);
    const isWeak = reply && (query.ask ? reply.note : !found.some(({ stands_out }) => stands_out));
    const note =
      query.text || query.ask
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
      query.ask ? this.drawAnswer(reply, this.asked) : found.length ? this.controls() : "",
      isWeak && (found.length || !query.text) ? el("p", { id: "search-note", className: "no-match" }, note) : "",
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
