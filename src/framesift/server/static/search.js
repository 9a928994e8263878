// Search in all videos of the library or in marked ones: by words, by an image, by a frame that was found; and questions.
import { answerText, asMarkdown } from "./answer.js";
import { counted, el, find, linkButton } from "./common.js";
import { copyButton, Moments, momentUrl } from "./moments.js";
import { WEAKEST } from "./readers.js";
import { foldedWarnings } from "./result.js";
import { clock } from "./shared.js";

let model = ""; // that answers; none where the server has no reader

/** Keep what is searched for in the address, which can be shared; an image can't be. */
function keep(query) {
  const { text, ask, like, at_s, video = [] } = query ?? {};
  const kept = Object.entries({ find: text, ask, like, at: at_s }).filter(([, value]) => value !== undefined);
  if (kept.length) kept.push(...video.map((id) => ["in", id]));
  history.replaceState(null, "", `${location.pathname}?${new URLSearchParams(kept)}`.replace(/\?$/, ""));
  if (!text && !ask) find("search-text").value = "";
}

const shortName = (reader) => reader.split("#").at(-1);
const label = ({ name, time_s }) => `${name} ${clock(time_s)}`;
const markdownLink = (one) => `[${label(one)}](${momentUrl(one.video, one.time_s)})`;

/** A reader's answer, with links to the frames that it cites; before one, how to get it. asked: who is asked now. */
function drawAnswer(reply, asked) {
  if (asked)
    return el(
      "p",
      { className: "fine waiting" },
      el("progress", { "aria-label": "Waiting for the answer" }),
      `${shortName(asked)} is answering …`,
    );
  if (!reply) return "";
  const { answer, frames } = reply;
  const rest = reply.left_out
    ? `Asked about the ${counted(reply.videos.length, "video")} with the best moments; ${reply.left_out} left out.`
    : "";
  const warnings = [rest && el("p", { className: "fine" }, rest), foldedWarnings(reply.warnings)];
  if (!answer) {
    const how = model
      ? linkButton(`Ask ${shortName(model)}`, undefined, () => moments.run(model), { id: "ask-model" })
      : el("p", { className: "fine" }, "For an answer in words, add a model on the page of a video.");
    return [how, ...warnings];
  }
  const cited = frames.filter((one) => one.cited);
  const links = cited.map((one) =>
    el(
      "a",
      { className: "chip", href: momentUrl(one.video, one.time_s) },
      el("img", { src: one.image, alt: "", loading: "lazy" }),
      label(one),
    ),
  );
  const copied = () => asMarkdown(moments.query.ask, answer, cited.map(markdownLink));
  const facts = [answer.reader, counted(answer.times_s.length, "frame")];
  return [
    el(
      "div",
      { className: "answer unfolded" },
      el(
        "p",
        { className: "fine status-line" },
        copyButton("Copy", "Copy this answer as Markdown", copied),
        facts.join(" · "),
      ),
      el("div", { className: "answer-text" }, answerText(answer, false)),
      links.length ? el("div", { className: "cited" }, el("span", { className: "fine" }, "Frames cited:"), links) : "",
      answer.note ? el("p", { className: "fine" }, `Note: ${answer.note}.`) : "",
    ),
    ...warnings,
  ];
}

const moments = new Moments({ onShown: keep, drawAnswer });
moments.opener = find("search-text");

function search(isSubmitted = false) {
  const text = find("search-text").value.trim();
  moments.search(text ? { text, by: find("search-by").value, video: moments.scope } : null, isSubmitted);
}

/** Show the frames for the question typed, and have a model answer if the button was pressed. */
async function ask(isPressed = false) {
  const question = find("search-text").value.trim();
  if (!question) return find("search-text").focus();
  const query = { ask: question, video: moments.scope };
  await moments.search(query, isPressed);
  return isPressed && model && moments.query === query && moments.reply ? moments.run(model) : undefined;
}

/** Search for an image if the files are one; whether they are. */
export const searchImage = (files) => !find("search-box").hidden && moments.searchImage(files);

/** Search and ask only in a video too, or no longer. */
function mark(id, isMarked) {
  if (isMarked) moments.marked.add(id);
  else moments.marked.delete(id);
  const { size } = moments.marked;
  find("search-scope").textContent = size ? counted(size, "marked video") : "all videos";
}

/** The box that marks a video of a list. */
export function markBox({ id, name }) {
  const onchange = ({ target }) => mark(id, target.checked);
  const box = el("input", { type: "checkbox", checked: moments.marked.has(id), onchange });
  return el("label", { className: "fine" }, box, " Search here", el("span", { className: "hidden" }, `: ${name}`));
}

/** Forget the marks of videos that are gone. */
export function checkMarks(videos) {
  for (const id of moments.scope) if (!videos.some((video) => video.id === id)) mark(id, false);
}

export function setUpSearch({ readers }) {
  [model] = readers.filter((name) => name !== WEAKEST).concat("");
  find("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(true);
  });
  find("search-by").addEventListener("change", () => moments.query?.text && search());
  find("search-text").addEventListener("search", () => find("search-text").value || search()); // emptied by its button
  find("ask-all").addEventListener("click", () => ask(true));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest?.("input, textarea, select")) return;
    event.preventDefault();
    find("search-text").focus();
  });
  const query = new URLSearchParams(location.search);
  for (const id of query.getAll("in")) mark(id, true);
  find("search-text").value = query.get("find") ?? query.get("ask") ?? "";
  if (query.get("ask")) ask();
  else if (find("search-text").value) search();
  else if (query.get("like")) moments.like(query.get("like"), query.get("at") ?? 0);
}
