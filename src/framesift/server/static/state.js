// What keeps a video from being ready: a problem, indexing in progress, or that it has not begun.
import { el, find, post } from "./common.js";
import { isOpen, jobRow } from "./jobs.js";

/** Draw the state of a video; actions: act(work) runs a button's work, stopWaiting() forgets the question. */
export function drawState(video, isWaiting, { act, stopWaiting }) {
  const box = find("state");
  const hadFocus = box.contains(document.activeElement);
  const job = video.job;
  const indexButton = (label) =>
    el(
      "button",
      { type: "button", className: "plain", onclick: () => act(() => post(`/api/videos/${video.id}/index`)) },
      label,
    );
  if (video.problem) {
    document.body.classList.add("no-player");
    find("ask").hidden = true;
    box.replaceChildren(
      el("h2", {}, "This video can't be used"),
      el("p", { className: "problem", role: "alert" }, video.problem),
      el("p", {}, el("a", { href: "/" }, "Back to the library")),
    );
  } else if (isOpen(job) && !video.ready) {
    const hint = isWaiting ? "The first frames appear in a moment." : "You can ask meanwhile.";
    box.replaceChildren(
      jobRow(job, act, stopWaiting),
      el("p", { className: "fine", role: "status" }, `A video is indexed once. ${hint}`),
    );
  } else if (job?.state === "failed") {
    box.replaceChildren(el("p", { className: "problem", role: "alert" }, job.error), indexButton("Try again"));
  } else if (!video.ready) {
    const label = job?.state === "cancelled" ? "Resume indexing" : "Index this video";
    box.replaceChildren(
      el("p", {}, "A video is indexed once; questions can be asked from its first frames on."),
      indexButton(label),
    );
  }
  box.hidden = video.ready && job?.state !== "failed";
  if (hadFocus) (box.querySelector("button:not([hidden])") ?? find("question")).focus();
}

/** Whether a new selection may differ: the file or its text has changed. */
export function hasChanged(before, now) {
  const sources = ({ words }) => JSON.stringify(words?.sources);
  const isDone = now.job?.state === "done" && before.job?.state !== "done";
  return isDone || before.version !== now.version || sources(before) !== sources(now);
}
