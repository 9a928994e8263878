// The video's chapters: shown with a frame each until a question is asked, and on the timeline.
import { el, find, get, linkButton, redraw } from "./common.js";
import { clock } from "./shared.js";

export class Chapters {
  /** onPlay(time_s, url) plays one; onPart(window) asks about one; onLoad() when they are known. */
  constructor(id, { onPlay, onPart, onLoad }) {
    Object.assign(this, { url: `/api/videos/${id}/chapters`, onPlay, onPart, onLoad, list: [], loaded: "" });
  }

  /** Load those of a video, again when it has changed. */
  async load({ ready, version, words }) {
    const state = JSON.stringify([version, words]);
    if (!ready || state === this.loaded) return;
    this.loaded = state;
    this.list = await get(this.url);
    redraw(find("chapter-list"), ...this.list.map((one) => this.item(one)));
    find("chapters").hidden = this.list.length < 2;
    this.onLoad();
  }

  item({ start_s, end_s, title, image }) {
    const at = clock(start_s);
    const ask = () => this.onPart({ from_s: Math.round(start_s * 10) / 10, to_s: Math.round(end_s * 10) / 10 });
    return el(
      "li",
      { key: start_s },
      el(
        "button",
        { type: "button", className: "open", onclick: () => this.onPlay(start_s, image) },
        el("span", { className: "hidden" }, "Play from "),
        el("span", { className: "shot" }, el("img", { src: image, alt: "", loading: "lazy" })),
        el("span", { className: "line" }, el("span", { className: "time" }, at)),
        title ? el("span", { className: "event-text", dir: "auto" }, title) : "",
      ),
      linkButton("Ask about this part", `Ask about this part: from ${at}`, ask),
    );
  }

  /** As rows of the timeline. */
  get spans() {
    return this.list.map(({ start_s, end_s, title }) => ({ start_s, end_s, text: title }));
  }
}
