// A video's text and warnings, and uploading subtitles for it.
import { el, find, redraw, showMessage, splitFiles, textSummary, uploadFile, warningBox } from "./common.js";
import { isOpen, jobStatus } from "./jobs.js";

/** Draw where the video's text comes from; onFiles(files) is called with subtitles the user chooses. */
export function drawTextInfo({ words, warnings, ready, job, uploaded, beside, problem }, endings, onFiles) {
  const box = find("text-info");
  const parts = [];
  if (ready && isOpen(job)) parts.push(el("span", {}, `${jobStatus(job)} …`));
  else if (ready && words.events) parts.push(el("span", {}, `${textSummary(words)}.`));
  else if (ready) {
    const add = uploaded ? "" : " To add subtitles, put a file of the same name beside the video.";
    parts.push(el("span", {}, `No subtitles or speech found; frames are selected by image alone.${add}`));
  } else if (beside.length) parts.push(el("span", {}, "Subtitles: ", el("bdi", {}, beside[0]), "."));
  if (uploaded) parts.unshift(fileInput(beside.length ? "Replace subtitles" : "Add subtitles", endings, onFiles));
  redraw(
    box,
    el("p", { className: "fine status-line" }, parts),
    warningBox(warnings),
    ready && !words.events ? noteList("Where text was searched for", words.notes) : "",
  );
  box.hidden = Boolean(problem) || !(parts.length || warnings.length);
}

function noteList(title, notes) {
  if (!notes.length) return "";
  const items = notes.map((note) => el("li", {}, note));
  return el("details", { className: "lists fine" }, el("summary", {}, title), el("ul", { className: "notes" }, items));
}

function fileInput(label, endings, onFiles) {
  const onchange = (event) => {
    const files = [...event.target.files];
    event.target.value = ""; // so that the same file can be chosen again
    onFiles(files);
  };
  return el(
    "label",
    { className: "link file" },
    el("input", { type: "file", accept: endings.join(), onchange }),
    label,
  );
}

/** Upload subtitles for a video; the errors of some files do not stop the others. */
export async function addSubtitles(id, files, endings) {
  const { subtitles, videos } = splitFiles(files, endings);
  const errors = videos.map((file) => `${file.name} is not a subtitle file; videos are added in the library.`);
  for (const file of subtitles) {
    try {
      await uploadFile(`/api/videos/${id}/subtitles`, file, () => {}).reply;
    } catch (error) {
      errors.push(error.message);
    }
  }
  showMessage(find("subtitles-error"), errors.join(" "));
}
