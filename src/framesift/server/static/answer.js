// The answers to a question: asked per lane, shown while they are written, and kept on the server.
import { counted, el, find, get, linkButton, post, redraw, request, showMessage, update } from "./common.js";
import { copyButton, momentUrl } from "./moments.js";
import { clock, linkTimes, markdown } from "./shared.js";

function chips(times, frames, onPlay) {
  return times.map((time_s) => {
    const frame = frames.find((one) => Math.abs(one.time_s - time_s) < 0.001);
    const play = () => onPlay(time_s, frame?.image, frame?.id);
    const image = frame ? el("img", { src: frame.image, alt: "", loading: "lazy" }) : "";
    return el(
      "button",
      { type: "button", className: "chip", "aria-label": `Play from ${clock(time_s)}`, onclick: play },
      image,
      clock(time_s),
    );
  });
}

export function answerText(answer, hasOptions, onTime) {
  if (answer.parsed && answer.letter)
    return [el("span", { className: "letter" }, answer.letter), el("span", { dir: "auto" }, answer.text)];
  if (answer.parsed) return [el("div", { className: "md" }, markdown(answer.text, el, onTime))];
  const reply = answer.raw.trim() || answer.text;
  const message = reply
    ? `The reader chose no option. Its reply: “${reply.slice(0, 400)}”`
    : "The reader gave no answer.";
  return [el("span", { dir: "auto" }, hasOptions ? message : reply || message)];
}

/** An answer as Markdown, with its question and links to the frames cited. urlOf(time_s): where its times lead. */
export function asMarkdown(question, answer, cited, urlOf) {
  const { letter, parsed, raw } = answer;
  const text = (parsed && letter ? `${letter}: ${answer.text}` : parsed ? answer.text : raw).trim();
  const parts = [`**${question}**`, urlOf ? linkTimes(text, urlOf) : text];
  return [...parts, ...(cited.length ? [`Frames cited: ${cited.join(", ")}`] : [])].join("\n\n");
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

const secondsSince = (time_s) => `${Math.max(0, Math.round(Date.now() / 1000 - time_s))} s`;

const timesOf = ({ frames }) => frames.map((frame) => frame.time_s);

/** Whether two lists of times, in any order, are of the same frames. */
function isSame(times, others) {
  const sorted = [times, others].map((list) => [...list].sort((a, b) => a - b));
  return times.length === others.length && sorted[0].every((time_s, k) => Math.abs(time_s - sorted[1][k]) < 0.001);
}

export class Answers {
  /** box: the element to draw in; onPlay(time_s, url, frame id). */
  constructor(box, video, onPlay) {
    this.box = box;
    this.video = video;
    this.url = `/api/videos/${video}/history`;
    this.onPlay = onPlay;
    this.kept = null; // the question shown
    this.view = null;
    this.following = new Map(); // AbortControllers by answer
    this.unfolded = new Set(); // answers shown in full
    this.cancelling = new Set(); // answers whose Cancel was pressed
    this.askedTimes = new Map(); // of the frames that a reader was asked about here, by answer
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
    const title = el("summary", {}, counted(earlier.length, "earlier answer"));
    redraw(
      this.box,
      newest.length ? el("div", { className }, cards(newest)) : "",
      earlier.length ? el("details", { className: "more" }, title, cards(earlier)) : "",
    );
    for (const card of this.box.querySelectorAll(".answer")) this.fold(card);
  }

  /** Offer to unfold a long answer, whose height is limited; one being written shows its end. */
  fold(card) {
    const text = card.querySelector(".answer-body");
    const isLong = text.scrollHeight > text.clientHeight + 4;
    card.classList.toggle("long", isLong);
    card.querySelector(".unfold").hidden = !card.classList.contains("unfolded") && !isLong;
    if (card.getAttribute("aria-busy") === "true") text.scrollTop = text.scrollHeight;
  }

  /** Stop following, as another question is shown; the answers go on on the server. */
  leave() {
    for (const controller of this.following.values()) controller.abort();
    this.following.clear();
    showMessage(find("answers-error"), "");
  }

  /** Ask a reader about the frames of each lane. */
  async ask(reader, { methods: _, ...body }) {
    showMessage(find("answers-error"), "");
    const { kept } = this;
    try {
      for (const lane of this.lanes) {
        const answer = await post(`${this.url}/${kept.id}/answers`, { ...body, method: lane.method, reader });
        kept.answers.push(answer);
        this.askedTimes.set(answer.id, timesOf(lane));
        this.draw();
        this.follow(answer);
      }
    } catch (error) {
      showMessage(find("answers-error"), error.message);
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
      if (error.name !== "AbortError") showMessage(find("answers-error"), error.message);
    }
    this.following.delete(answer.id);
  }

  update(followed, answer) {
    const kept = this.kept?.id === followed.id ? this.kept : followed; // it may have been loaded again
    kept.answers = kept.answers.map((one) => (one.id === answer.id ? answer : one));
    this.redrawCard(answer);
  }

  redrawCard(answer) {
    const card = this.box.querySelector(`[data-answer="${answer.id}"]`);
    if (!card) return;
    update(card, this.card(answer));
    this.fold(card);
  }

  updateTimers() {
    for (const time of this.box.querySelectorAll("[data-since]")) time.textContent = secondsSince(time.dataset.since);
  }

  /** Delete an answer, or cancel one that is being written. */
  async remove(answer) {
    const isRunning = answer.state === "running";
    if (isRunning) {
      if (this.cancelling.has(answer.id)) return;
      this.cancelling.add(answer.id);
      this.redrawCard(answer);
    }
    try {
      await request(`${this.url}/${this.kept.id}/answers/${answer.id}`, { method: "DELETE" });
      if (isRunning) return;
      this.kept.answers = this.kept.answers.filter((one) => one.id !== answer.id);
    } catch (error) {
      showMessage(find("answers-error"), error.message);
    }
    this.cancelling.delete(answer.id);
    this.draw();
  }

  removeButton(kept) {
    const remove = (event) => event.detail < 2 && this.remove(kept); // a double click on Cancel must not delete
    const isCancelling = this.cancelling.has(kept.id);
    const label = kept.state !== "running" ? "Delete" : isCancelling ? "Cancelling …" : "Cancel";
    const isDisabled = String(label === "Cancelling …"); // `disabled` would drop the focus
    return linkButton(label, `${label} this answer`, remove, { key: kept.state, "aria-disabled": isDisabled });
  }

  unfoldButton(kept) {
    const isOpen = this.unfolded.has(kept.id);
    const toggle = () => {
      if (isOpen) this.unfolded.delete(kept.id);
      else this.unfolded.add(kept.id);
      this.redrawCard(kept);
    };
    const more = { className: "link unfold", hidden: true, "aria-expanded": String(isOpen) };
    return linkButton(isOpen ? "Show less" : "Show all", undefined, toggle, more);
  }

  /** What an answer says about other frames than those shown; "" where it is about them, or that is not known. */
  otherFrames(kept) {
    const lane = this.lanes.find((one) => one.method === kept.method);
    const times = kept.answer?.times_s ?? this.askedTimes.get(kept.id) ?? [];
    if (!this.lanes.length || (lane && (!times.length || isSame(times, timesOf(lane))))) return "";
    const frames = times.length ? counted(times.length, "frame") : "frames";
    return `About ${frames} of ${kept.method} selected before, not those shown.`;
  }

  card(kept) {
    const lane = this.lanes.find((one) => one.method === kept.method);
    const isRunning = kept.state === "running";
    const onTime = (time_s) => this.onPlay(time_s);
    const other = this.otherFrames(kept);
    const { answer } = kept;
    const facts = [kept.reader];
    if (this.lanes.length > 1) facts.unshift(kept.method);
    if (answer?.times_s.length) facts.push(counted(answer.times_s.length, "frame"));
    if (answer?.tokens) facts.push(counted(answer.tokens, "token"));
    if (answer?.seconds) facts.push(`${answer.seconds.toFixed(1)} s`);
    if (kept.state === "cancelled") facts.push("cancelled");
    const since = isRunning ? el("span", { "data-since": kept.asked_s }, secondsSince(kept.asked_s)) : "";
    const cited = answer?.cited_s.length
      ? el(
          "div",
          { className: "cited" },
          el("span", { className: "fine" }, "Frames cited:"),
          chips(answer.cited_s, lane?.frames ?? [], this.onPlay),
        )
      : "";
    const urlOf = (time_s) => momentUrl(this.video, time_s);
    const links = (times) => times.map((time_s) => `[${clock(time_s)}](${urlOf(time_s)})`);
    const hasOptions = (this.view?.options.length ?? 0) > 0;
    const text = answer
      ? el("div", { className: "answer-text" }, answerText(answer, hasOptions, onTime))
      : el("div", { className: "answer-text" }, el("div", { className: "md" }, markdown(kept.text, el, onTime)));
    return el(
      "div",
      {
        key: kept.id,
        className: `answer${this.unfolded.has(kept.id) ? " unfolded" : ""}`,
        "data-answer": kept.id,
        "aria-busy": String(isRunning),
      },
      el(
        "p",
        { className: "fine status-line" },
        this.removeButton(kept),
        answer
          ? copyButton("Copy", "Copy this answer as Markdown", () =>
              asMarkdown(this.kept.request.question, answer, links(answer.cited_s), urlOf),
            )
          : "",
        this.unfoldButton(kept),
        facts.join(" · "),
        since && " · ",
        since,
      ),
      other ? el("p", { className: "notice" }, other) : "",
      el(
        "div",
        { className: "answer-body" },
        answer || kept.text ? text : "",
        isRunning && !kept.text ? el("progress", { "aria-label": "Waiting for the reader" }) : "",
        kept.error ? el("p", { className: "problem", role: "alert" }, kept.error) : "",
        cited,
        answer?.note ? el("p", { className: "fine" }, `Note: ${answer.note}.`) : "",
      ),
    );
  }
}

/** The kept question of a request, with its answers. */
export const keepQuestion = (video, { partial: _, ...body }) => post(`/api/videos/${video}/history`, body);

export const keptQuestions = (video) => get(`/api/videos/${video}/history`);
