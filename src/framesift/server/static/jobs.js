// Jobs as the pages show them: what they do, how long that takes, and their buttons.
import { el, post, request } from "./common.js";

const PHASES = {
  starting: "Starting",
  keyframes: "Looking at keyframes",
  indexing: "Indexing the frames",
  "sample video": "Generating the sample video",
  "speech recognition": "Recognising speech",
  "screen text": "Reading on-screen text",
  "encoding text": "Encoding the text",
};

export const isOpen = (job) => job?.state === "waiting" || job?.state === "running";

/** "about 20 s", "about 3 min", "about 2 h". */
function about(seconds) {
  if (seconds < 50) return `about ${Math.max(5, Math.round(seconds / 5) * 5)} s`;
  return seconds < 5400
    ? `about ${Math.max(1, Math.round(seconds / 60))} min`
    : `about ${Math.round(seconds / 3600)} h`;
}

/** Describe what a running or waiting job is doing. */
export function jobStatus(job) {
  const share = job.total ? ` · ${Math.floor((100 * job.done) / job.total)} %` : "";
  if (job.state === "waiting") {
    const start = job.starts_in_s === null ? "" : ` · starts in ${about(job.starts_in_s)}`;
    return `${share ? "Paused" : "Waiting"}${share} · ${job.position === 1 ? "next" : `position ${job.position}`}${start}`;
  }
  const left = job.left_s === null ? "" : ` · ${about(job.left_s)} left`;
  return `${PHASES[job.phase] ?? job.phase}${share}${left}`;
}

export function jobProgress(job) {
  const bar = el("progress", { "aria-label": `Progress of ${job.name}` });
  if (job.total) Object.assign(bar, { max: job.total, value: job.done });
  else if (job.state === "waiting") Object.assign(bar, { max: 1, value: 0 });
  return bar;
}

/** A row with a job's progress and its buttons; act(work) runs what they do. `before` stops waiting for the job. */
export function jobRow(job, act, before = () => {}) {
  const cancel = () =>
    act(() => {
      before();
      return request(`/api/jobs/${job.id}`, { method: "DELETE" });
    });
  const button = (label, name, onclick) =>
    el("button", { type: "button", className: "link", "aria-label": `${name} ${job.name}`, onclick }, label);
  const first = button("Do this first", "Do this first:", () => act(() => post(`/api/jobs/${job.id}/first`)));
  first.hidden = job.state !== "waiting";
  return el(
    "div",
    { className: "job", "data-job": job.id },
    jobProgress(job),
    el(
      "p",
      { className: "fine" },
      el("span", { className: "job-status" }, jobStatus(job)),
      " ",
      first,
      " ",
      button("Cancel", "Cancel", cancel),
    ),
  );
}

/** Update the rows of these jobs in place, so that a button keeps the focus. */
export function updateJobRows(jobs) {
  for (const job of jobs) {
    for (const row of document.querySelectorAll(`[data-job="${job.id}"]`)) {
      row.querySelector("progress").replaceWith(jobProgress(job));
      row.querySelector(".job-status").textContent = jobStatus(job);
      row.querySelector("button").hidden = job.state !== "waiting";
    }
  }
}

/** "40 %", or "" where it is not known how far a job is. */
export const progressText = ({ done, total }) => (total ? `${Math.floor((100 * done) / total)} %` : "");
