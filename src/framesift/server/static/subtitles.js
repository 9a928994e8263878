// What is known of a video's words, and how it gets others.
import { el, find, isOpen, jobWords, say, send, sorted, wordsLine } from "./common.js";

/** onFiles(files) is called with what somebody chose. */
export function drawWords({ words, ready, job, uploaded, beside, problem }, endings, onFiles) {
  const parts = [];
  if (ready && isOpen(job)) parts.push(el("span", {}, `${jobWords(job)} …`));
  else if (ready && words.events) parts.push(el("span", {}, `${wordsLine(words)}.`));
  else if (ready) parts.push(el("span", {}, "No words were found in this video: its pictures alone decide."));
  else if (beside.length) parts.push(el("span", {}, "Subtitles: ", el("bdi", {}, beside[0]), "."));
  if (uploaded) parts.push(" ", chooser(beside.length ? "Use other subtitles" : "Add subtitles", endings, onFiles));
  else if (ready && !words.events) parts.push(" A subtitle file of the same name beside the video would be found.");
  const held = find("words").contains(document.activeElement);
  find("words").replaceChildren(el("p", { className: "fine" }, parts), ready && !words.events ? lookedFor(words.notes) : "");
  find("words").hidden = Boolean(problem) || !parts.length;
  if (held) find("words").querySelector("input, summary")?.focus();
}

function lookedFor(notes) {
  if (!notes.length) return "";
  return el("details", { className: "lists fine" }, el("summary", {}, "What was looked for"), el("ul", { className: "notes" }, notes.map((note) => el("li", {}, note))));
}

function chooser(words, endings, onFiles) {
  const choose = (event) => {
    const files = [...event.target.files];
    event.target.value = ""; // so that the same file can be chosen again
    onFiles(files);
  };
  return el("label", { className: "link file" }, el("input", { type: "file", accept: endings.join(), onchange: choose }), words);
}

/** Send subtitles to an upload; what is wrong with one is said, and the others still go. */
export async function addSubtitles(id, files, endings) {
  const { subtitles, videos } = sorted(files, endings);
  const wrong = videos.map((file) => `${file.name} is no subtitle file; videos are added in the library.`);
  for (const file of subtitles) {
    try {
      await send(`/api/videos/${id}/subtitles`, file, () => {}).reply;
    } catch (error) {
      wrong.push(error.message);
    }
  }
  say(find("words-failed"), wrong.join(" "));
}
