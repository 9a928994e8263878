// The answers to a question: asked per lane, shown while they are written, and kept on the server.
import { counted, el, get, post, request, showMessage } from "./common.js";
import { markdown } from "./markdown.js";
import { clock } from "./shared.js";

function chips(times, frames, onPlay) {
  return times.map((time_s) => {
    const frame = frames.find((one) => Math.abs(one.time_s - time_s) < 0.001);
    const play = () => onPlay(time_s, frame?.picture, frame?.id);
    const image = frame ? el("img", { src: frame.picture, alt: "", loading: "lazy" }) : "";
    return el(
      "button",
      { type: "button", className: "chip", "aria-label": `Play from ${clock(time_s)}`, onclick: play },
      image,
      clock(time_s),
    );
  });
}

function answerText(answer, hasOptions, onTime) {
  if (answer.parsed && answer.letter)
    return [el("span", { className: "letter" }, answer.letter), el("span", { dir: "auto" }, answer.text)];
  if (answer.parsed) return [el("div", { className: "md" }, markdown(answer.text, onTime))];
  const reply = answer.raw.trim() || answer.text;
  const message = reply
    ? `The reader chose no option. Its reply: “${reply.slice(0, 400)}”`
    : "The reader gave no answer.";
  return [el("span", { dir: "auto" }, hasOptions ? message : reply || message)];
}

/** Read a response of one JSON object per line, and call onLine with each. */
async function readLines(reply, onLine) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const lines = (rest + chunk.value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) onLine(JSON.parse(line));
  }
}

export class Answers {
  /** box: the element to draw in; onPlay(time_s, url, frame id). */
  constructor(box, video, onPlay) {
    this.box = box;
    this.url = `/api/videos/${video}/history`;
    this.onPlay = onPlay;
    this.kept = null; // the question shown
    this.view = null;
    this.following = new Map(); // AbortControllers by answer
    this.unfolded = new Set(); // answers shown in full
    this.error = el("p", { className: "problem", role: "alert", hidden: true });
    setInterval(() => this.updateTimers(), 1000);
  }

  get lanes() {
    return this.view?.lanes ?? [];
  }

  /** Show the answers of a kept question beside the frames of a view. */
  show(kept, view) {
    if (kept?.id !== this.kept?.id) this.leave();
    this.kept = kept;
    this.view = view;
    this.draw();
    for (const answer of kept?.answers ?? []) if (answer.state === "running") this.follow(answer);
  }

  /** Draw the newest answer of each lane; earlier ones are folded, so that the frames stay in view. */
  draw() {
    const answers = this.kept?.answers ?? [];
    const ofLanes = this.lanes.map((lane) => answers.findLast((answer) => answer.method === lane.method));
    const newest = ofLanes.some(Boolean) ? ofLanes.filter(Boolean) : answers.slice(-1);
    const earlier = answers.filter((answer) => !newest.includes(answer));
    const cards = (list) => list.map((answer) => this.card(answer));
    const className = newest.length > 1 ? "newest several" : "newest";
    const folded = el(
      "details",
      { className: "more", open: Boolean(this.box.querySelector("details[open]")) },
      el("summary", {}, counted(earlier.length, "earlier answer")),
      cards(earlier),
    );
    this.box.replaceChildren(el("div", { className }, cards(newest)), earlier.length ? folded : "", this.error);
    for (const card of this.box.querySelectorAll(".answer")) this.fold(card);
  }

  /** Limit the height of a long answer, with a button that shows all of it; one being written shows its end. */
  fold(card) {
    const id = card.dataset.answer;
    const text = card.querySelector(".answer-body");
    const button = card.querySelector(".unfold");
    const set = (isOpen) => {
      if (isOpen) this.unfolded.add(id);
      else this.unfolded.delete(id);
      card.classList.toggle("unfolded", isOpen);
      button.textContent = isOpen ? "Show less" : "Show all";
      button.setAttribute("aria-expanded", isOpen);
    };
    set(this.unfolded.has(id));
    const isLong = text.scrollHeight > text.clientHeight + 4;
    card.classList.toggle("long", isLong);
    button.hidden = !this.unfolded.has(id) && !isLong;
    button.onclick = () => set(!this.unfolded.has(id));
    if (card.getAttribute("aria-busy") === "true") text.scrollTop = text.scrollHeight;
  }

  /** Stop following, as another question is shown; the answers go on on the server. */
  leave() {
    for (const controller of this.following.values()) controller.abort();
    this.following.clear();
    showMessage(this.error, "");
  }

  /** Ask a reader about the frames of each lane. */
  async ask(reader, { methods: _, ...body }) {
    showMessage(this.error, "");
    const { kept } = this;
    try {
      for (const lane of this.lanes) {
        const answer = await post(`${this.url}/${kept.id}/answers`, { ...body, method: lane.method, reader });
        kept.answers.push(answer);
        this.draw();
        this.follow(answer);
      }
    } catch (error) {
      showMessage(this.error, error.message);
    }
  }

  async follow(answer) {
    if (this.following.has(answer.id)) return;
    const controller = new AbortController();
    this.following.set(answer.id, controller);
    const { kept } = this;
    try {
      const url = `${this.url}/${kept.id}/answers/${answer.id}`;
      await readLines(await request(url, { signal: controller.signal }), (now) => this.update(kept, now));
    } catch (error) {
      if (error.name !== "AbortError") showMessage(this.error, error.message);
    }
    this.following.delete(answer.id);
  }

  update(followed, answer) {
    const kept = this.kept?.id === followed.id ? this.kept : followed; // it may have been loaded again
    kept.answers = kept.answers.map((one) => (one.id === answer.id ? answer : one));
    const before = this.find(answer.id);
    if (!before) return;
    const card = this.card(answer);
    before.replaceWith(card);
    this.fold(card);
  }

  find(id) {
    return this.box.querySelector(`[data-answer="${id}"]`);
  }

  updateTimers() {
    for (const time of this.box.querySelectorAll("[data-since]"))
      time.textContent = `${Math.max(0, Math.round(Date.now() / 1000 - time.dataset.since))} s`;
  }

  async remove(answer) {
    try {
      await request(`${this.url}/${this.kept.id}/answers/${answer.id}`, { method: "DELETE" });
      if (answer.state === "running") return;
      this.kept.answers = this.kept.answers.filter((one) => one.id !== answer.id);
      this.draw();
    } catch (error) {
      showMessage(this.error, error.message);
    }
  }

  card(kept) {
    const lane = this.lanes.find((one) => one.method === kept.method);
    const several = this.lanes.length > 1 || (this.lanes.length && !lane);
    const isRunning = kept.state === "running";
    const onTime = (time_s) => this.onPlay(time_s);
    const remove = el(
      "button",
      {
        type: "button",
        className: "link",
        "aria-label": `${isRunning ? "Cancel" : "Delete"} this answer`,
        onclick: () => this.remove(kept),
      },
      isRunning ? "Cancel" : "Delete",
    );
    const unfold = el("button", { type: "button", className: "link unfold", hidden: true });
    const { answer } = kept;
    const facts = [kept.reader];
    if (answer) facts.push(counted(answer.times_s.length, "frame"));
    if (answer?.tokens) facts.push(counted(answer.tokens, "token"));
    if (answer?.seconds) facts.push(`${answer.seconds.toFixed(1)} s`);
    if (kept.state === "cancelled") facts.push("cancelled");
    const since = isRunning ? el("span", { "data-since": String(kept.asked_s) }, "") : "";
    const cited = answer?.cited_s.length
      ? el(
          "div",
          { className: "cited" },
          el("span", { className: "fine" }, "Frames cited:"),
          chips(answer.cited_s, lane?.frames ?? [], this.onPlay),
        )
      : "";
    const hasOptions = (this.view?.options.length ?? 0) > 0;
    const text = answer
      ? el("div", { className: "answer-text" }, answerText(answer, hasOptions, onTime))
      : el("div", { className: "answer-text" }, el("div", { className: "md" }, markdown(kept.text, onTime)));
    return el(
      "div",
      { className: "answer", "data-answer": kept.id, "aria-busy": String(isRunning) },
      several ? el("h3", {}, `Frames of ${kept.method}`) : "",
      el(
        "div",
        { className: "answer-body" },
        answer || kept.text ? text : "",
        isRunning && !kept.text ? el("progress", { "aria-label": "Waiting for the reader" }) : "",
        kept.error ? el("p", { className: "problem", role: "alert" }, kept.error) : "",
        cited,
        answer?.note ? el("p", { className: "fine" }, `Note: ${answer.note}.`) : "",
      ),
      el("p", { className: "fine" }, facts.join(" · "), since && " · ", since, " ", unfold, " ", remove),
    );
  }
}

/** The kept question of a request, with its answers. */
export const keepQuestion = (video, { partial: _, ...body }) => post(`/api/videos/${video}/history`, body);

export const keptQuestions = (video) => get(`/api/videos/${video}/history`);
