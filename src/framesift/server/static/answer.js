// A reader's answer, with the frames it cites.
import { counted, el, post } from "./common.js";
import { clock } from "./shared.js";

function chips(times, lane, onPlay) {
  return times.map((time_s) => {
    const frame = lane.frames.find((one) => Math.abs(one.time_s - time_s) < 0.001);
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

function answerText(answer, hasOptions) {
  if (answer.parsed && answer.letter)
    return [el("span", { className: "letter" }, answer.letter), el("span", { dir: "auto" }, answer.text)];
  if (answer.parsed) return [el("span", { dir: "auto" }, answer.text)];
  const reply = answer.raw.trim() || answer.text;
  const message = reply
    ? `The reader chose no option. Its reply: “${reply.slice(0, 400)}”`
    : "The reader gave no answer.";
  return [el("span", { dir: "auto" }, hasOptions ? message : reply || message)];
}

function answerCard(answer, lane, several, hasOptions, onPlay) {
  const facts = [answer.reader, counted(answer.times_s.length, "frame")];
  if (answer.tokens) facts.push(counted(answer.tokens, "token"));
  if (answer.seconds) facts.push(`${answer.seconds.toFixed(1)} s`);
  const cited = answer.cited_s.length
    ? el(
        "div",
        { className: "cited" },
        el("span", { className: "fine" }, "Frames cited:"),
        chips(answer.cited_s, lane, onPlay),
      )
    : "";
  return el(
    "div",
    { className: "answer" },
    several ? el("h3", {}, `With the frames of ${lane.method}`) : "",
    el("p", { className: "answer-text" }, answerText(answer, hasOptions)),
    cited,
    answer.note ? el("p", { className: "fine" }, `Note: ${answer.note}.`) : "",
    el("p", { className: "fine" }, facts.filter(Boolean).join(" · ")),
  );
}

/** Ask a reader once per lane, in order, and show each answer as it arrives. */
export async function askReader(box, video, view, question, reader, onPlay, signal) {
  const several = view.lanes.length > 1;
  box.replaceChildren();
  for (const lane of view.lanes) {
    const waiting = el(
      "p",
      { className: "fine waiting" },
      el("progress", { "aria-label": "Waiting for the reader" }),
      ` Asking ${reader} about ${counted(lane.frames.length, "frame")} …`,
    );
    box.append(waiting);
    try {
      const { methods: _, ...rest } = question;
      const answer = await post(`/api/videos/${video}/ask`, { ...rest, method: lane.method, reader }, { signal });
      waiting.replaceWith(answerCard(answer, lane, several, view.options.length > 0, onPlay));
    } catch (error) {
      if (error.name === "AbortError") return waiting.remove();
      waiting.replaceWith(el("p", { className: "problem", role: "alert" }, error.message));
    }
  }
  return undefined;
}
