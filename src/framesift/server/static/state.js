// What keeps a video from being ready: a problem, indexing in progress, or that it has not begun.
import { el, find, post, redraw } from "./common.js";
import { isOpen, jobRow } from "./jobs.js";

/** Draw the state of a video; actions: act(work) runs a button's work, stopWaiting() forgets the question. */
export function drawState(video, isWaiting, { act, stopWaiting }) {
  const job = video.job;
  const index = () => act(() => post(`/api/videos/${video.id}/index`));
  const indexButton = (label) => el("button", { type: "button", className: "plain", onclick: index }, label);
  const parts = [];
  if (video.problem) {
    document.body.classList.add("no-player");
    find("ask").hidden = true;
    parts.push(
      el("h2", {}, "This video can't be used"),
      el("p", { className: "problem", role: "alert" }, video.problem),
      el("p", {}, el("a", { href: "/" }, "Back to the library")),
    );
  } else if (isOpen(job) && !video.ready) {
    const hint = isWaiting ? "The first frames appear in a moment." : "You can ask meanwhile.";
    parts.push(
      jobRow(job, act, stopWaiting),
      el("p", { className: "fine", role: "status" }, `A video is indexed once. ${hint}`),
    );
  } else if (job?.state === "failed") {
    parts.push(el("p", { className: "problem", role: "alert" }, job.error), indexButton("Try again"));
  } else if (!video.ready) {
    parts.push(
      el("p", {}, "A video is indexed once; questions can be asked from its first frames on."),
      indexButton(job?.state === "cancelled" ? "Resume indexing" : "Index this video"),
    );
  }
  find("state").hidden = !parts.length;
  redraw(find("state"), ...parts);
}

/** Whether a new selection may differ: the file or its text has changed. */
export function hasChanged(before, now) {
  const sources = ({ words }) => JSON.stringify(words?.sources);
  const isDone = now.job?.state === "done" && before.job?.state !== "done";
  return isDone || before.version !== now.version || sources(before) !== sources(now);
}
