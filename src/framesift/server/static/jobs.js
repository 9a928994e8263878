// Jobs as the pages show them: what they do, how far they are, and their buttons.
import { el, linkButton, post, request, update } from "./common.js";

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

/** "40 %", or "" where it is not known how far a job is. */
export const progressText = ({ done, total }) => (total ? `${Math.min(100, Math.floor((100 * done) / total))} %` : "");

/** Describe what a running or waiting job is doing. */
export function jobStatus(job) {
  if (job.state === "waiting") return `Waiting · ${job.position === 1 ? "next" : `position ${job.position}`}`;
  const share = progressText(job);
  return `${PHASES[job.phase] ?? job.phase}${share && ` · ${share}`}`;
}

const cancelling = new Set(); // ids of jobs whose Cancel was pressed

/** A row with a job's progress and its buttons; act(work) runs what they do. `before` stops waiting for the job. */
export function jobRow(job, act, before = () => {}) {
  const isCancelling = cancelling.has(job.id);
  const cancel = (event) => {
    if (isCancelling) return;
    before();
    cancelling.add(job.id);
    update(event.target.closest(".job"), jobRow(job, act, before));
    act(() =>
      request(`/api/jobs/${job.id}`, { method: "DELETE" }).catch((error) => {
        cancelling.delete(job.id);
        throw error;
      }),
    );
  };
  const label = isCancelling ? "Cancelling …" : "Cancel";
  const share = job.total ? { max: job.total, value: job.done } : job.state === "waiting" ? { max: 1, value: 0 } : {};
  return el(
    "div",
    { key: job.id, className: "job", "data-job": job.id },
    el("progress", { "aria-label": `Progress of ${job.name}`, ...share }),
    el(
      "p",
      { className: "fine status-line" },
      linkButton(label, `${label} ${job.name}`, cancel, {
        "aria-disabled": String(isCancelling), // `disabled` would drop the focus
      }),
      linkButton("Do this next", `Do this next: ${job.name}`, () => act(() => post(`/api/jobs/${job.id}/first`)), {
        hidden: job.state !== "waiting" || isCancelling,
      }),
      el("span", { className: "job-status" }, jobStatus(job)),
    ),
  );
}
