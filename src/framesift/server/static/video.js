// One video: its player, a question, and the frames that answer it, redrawn whenever a knob is turned.
import { askReader } from "./answer.js";
import { drawLanes, markCard, rolePill } from "./cards.js";
import { el, find, get, GONE, isOpen, jobBar, jobWords, post, request, say, watchJobs } from "./common.js";
import { Player } from "./player.js";
import { clock, drawTimeline, nearest } from "./shared.js";
import { Knobs } from "./settings.js";
import { take } from "./export.js";
import { addSubtitles, drawWords } from "./subtitles.js";

const id = location.pathname.split("/").at(-1);
let video = null;
let knobs = null;
let view = null;
let shown = null; // what was asked for the view
let stale = false; // the last question got no answer
let timeline = null;
let asking = null; // aborts the question under way
let reading = null; // aborts the reader under way
let choices = null;
let wanted = false; // a question waits for the video to be ready
let changedAt = 0;

// ---- the player

const tell = (error) => say(find("failed"), error.message);
const player = new Player((time_s) => timeline?.playing(time_s), tell);
let picked = null; // the frame that was pressed last

function play(time_s, picture, frame) {
  picked = frame ?? null;
  timeline?.mark(picked);
  markCard(find("lanes"), picked);
  player.play(time_s, picture ?? imageNear(time_s).url);
}

// ---- the state of the video

function drawState() {
  const box = find("state");
  const held = box.contains(document.activeElement);
  const job = video.job;
  if (video.problem) {
    document.body.classList.add("alone");
    find("ask").hidden = true;
    box.replaceChildren(el("h2", {}, "This video can't be used"), el("p", { className: "problem", role: "alert" }, video.problem), el("p", {}, el("a", { href: "/" }, "Back to the library")));
  } else if (isOpen(job) && !video.ready) {
    const stop = () => {
      wanted = false;
      return request(`/api/jobs/${job.id}`, { method: "DELETE" });
    };
    const cancel = el("button", { type: "button", className: "link", onclick: () => act(stop) }, "Cancel");
    const promise = wanted ? "The frames appear when this is done." : "Type your question meanwhile.";
    box.replaceChildren(el("div", { className: "going", "data-job": job.id }, jobBar(job), el("p", {}, el("span", {}, jobWords(job)), " ", cancel), el("p", { className: "fine", role: "status" }, `This is done once for a video. ${promise}`)));
  } else if (job?.state === "failed") {
    box.replaceChildren(el("p", { className: "problem", role: "alert" }, job.error), indexButton("Try again"));
  } else if (!video.ready) {
    const words = job?.state === "cancelled" ? "Go on indexing" : "Index this video";
    box.replaceChildren(el("p", {}, "Before the first question every second of the video is looked at once. After that an answer takes a moment."), indexButton(words));
  }
  box.hidden = video.ready && job?.state !== "failed";
  if (held) (box.querySelector("button") ?? find("question")).focus();
}

const indexButton = (words) => el("button", { type: "button", className: "plain", onclick: () => act(() => post(`/api/videos/${id}/index`)) }, words);

async function takeSubtitles(files) {
  await addSubtitles(id, files, choices.subtitle_endings);
  await refresh().catch(tell);
}
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer?.files.length) takeSubtitles([...event.dataTransfer.files]);
});

async function act(work) {
  try {
    await work();
    await refresh();
  } catch (error) {
    tell(error);
  }
}

async function refresh() {
  const before = video;
  video = await get(`/api/videos/${id}`);
  document.title = `${video.name} · framesift`;
  find("name").textContent = video.name;
  find("facts").textContent = video.problem ? "" : `${clock(video.duration_s)} · ${video.width} × ${video.height}`;
  player.load(video);
  drawState();
  drawWords(video, choices.subtitle_endings, takeSubtitles);
  if (video.ready && knobs?.question && (wanted || (view && isOther(before, video)))) ask();
}

/** Whether what a video's frames are chosen from may have changed. */
function isOther(before, now) {
  const sources = ({ words }) => JSON.stringify(words?.sources);
  const isDone = now.job?.state === "done" && before.job?.state !== "done";
  return isDone || before.version !== now.version || sources(before) !== sources(now);
}

// ---- the question

/** Ask what the knobs say. `pressed`: somebody pressed the button, rather than turned a knob or opened a link. */
async function ask(pressed = false) {
  const asked = knobs.asked;
  if (!video.ready) {
    // What was cancelled stays so until somebody wants it again.
    wanted = pressed || video.job?.state !== "cancelled";
    if (wanted && !isOpen(video.job)) await act(() => post(`/api/videos/${id}/index`));
    else drawState();
    return;
  }
  wanted = false;
  asking?.abort();
  reading?.abort();
  asking = new AbortController();
  document.body.classList.add("asking");
  const from = changedAt || performance.now();
  changedAt = 0;
  const slow = setTimeout(() => say(find("looking"), "Looking …"), 300);
  try {
    view = await post(`/api/videos/${id}/view`, asked, { signal: asking.signal });
    shown = asked;
    stale = false;
    say(find("failed"), "");
    draw();
    performance.measure("redraw", { start: from, end: performance.now() });
  } catch (error) {
    if (error.name === "AbortError") return;
    stale = true;
    if (error.status === 409) await lookAgain();
    else tell(error);
  } finally {
    clearTimeout(slow);
    say(find("looking"), "");
  }
  document.body.classList.remove("asking");
  if (pressed && shown === asked) bringIntoSight();
}

/** Where all is one column, what was found lies below the window: bring it up to the player, which stays in sight. */
function bringIntoSight() {
  const { top } = find("timeline").getBoundingClientRect();
  if (top > 0.7 * innerHeight) scrollBy({ top: top - find("player").offsetHeight - 12 });
}

/** What was known no longer fits the video's file, or has gone from the library. */
async function lookAgain() {
  clear();
  await refresh().catch(tell);
  if (video.problem || video.ready) return;
  await ask(true);
  say(find("failed"), "The video's file has changed. It is being looked at again.");
}

/** As before the first question. */
function clear() {
  asking?.abort();
  reading?.abort();
  view = null;
  shown = null;
  for (const part of ["result", "timeline", "hint"]) find(part).hidden = true;
}

const lanesOf = ({ lanes }) =>
  lanes.map((lane) => ({ ...lane, name: lane.method, caption: `${lane.method} · ${lane.frames.length} frames` }));

function draw() {
  const data = { duration_s: view.duration_s, curve: view.curve, events: view.events, lanes: lanesOf(view) };
  find("timeline").hidden = false;
  find("hint").hidden = false;
  if (timeline) timeline.update(data);
  else timeline = drawTimeline(find("timeline"), { ...data, onFrame: playFrame, onSeek: (time_s) => play(time_s), imageNear });
  picked = null;
  timeline.mark(null);
  player.tell();
  find("result").hidden = false;
  find("answers").replaceChildren();
  say(find("export-failed"), "");
  if (view.events.length !== video.words?.events) refresh().catch(tell); // subtitles have come or changed
  const chosen = view.lanes.map((lane) => lane.frames.length);
  const many = view.lanes.length > 1 ? `${view.lanes.length} × ${Math.max(...chosen)}` : chosen[0];
  const took = view.lanes.reduce((sum, lane) => sum + lane.seconds, 0);
  const time = took < 1 ? `${Math.max(1, Math.round(1000 * took))} ms` : `${took.toFixed(1)} s`;
  find("summary").textContent = `${many} of ${view.curve.times_s.length.toLocaleString("en")} frames, chosen in ${time}.`;
  drawCards();
  drawLegend();
  drawEncoder();
  drawState();
}

/** What the encoder that needs no download can't do, before somebody wonders. */
function drawEncoder() {
  const weak = choices.encoder.startsWith("offline");
  say(find("encoder"), weak && "These frames were found by the offline encoder, which needs no download. It is weak on people and actions; SigLIP, where it is installed, sees more.");
  const foreign = /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]/u.test(shown.question);
  say(find("language"), weak && foreign && "The offline encoder reads English; a question in another language finds little. SigLIP 2 reads many languages.");
}

function drawCards() {
  drawLanes(find("lanes"), view.lanes, { textMode: shown.text_mode, order: find("order").value, roles: choices.roles, onPlay: play });
  markCard(find("lanes"), picked);
}
find("order").addEventListener("change", () => {
  knobs.write();
  drawCards();
});

function drawLegend() {
  const there = new Set(view.lanes.flatMap((lane) => lane.frames.map((frame) => frame.role)));
  find("legend").replaceChildren(...Object.entries(choices.roles).filter(([role]) => there.has(role)).map(([role, sentence]) => el("li", {}, rolePill(role), el("p", {}, sentence))));
}

/** The picture of the moment of the video nearest to a time that was looked at when it was indexed. */
function imageNear(time_s) {
  const times_s = view.curve.times_s;
  const near_s = times_s[nearest(times_s, time_s)] ?? time_s;
  return { url: `/api/videos/${id}/near/${near_s.toFixed(3)}.jpg?v=${video.version}`, width: video.width, height: video.height };
}

function playFrame(frame) {
  const found = view.lanes.flatMap((lane) => lane.frames).find((one) => one.id === frame);
  play(found.time_s, found.picture, frame);
}

let waiting = 0;
function turned() {
  changedAt ||= performance.now();
  clearTimeout(waiting);
  if (view || wanted) waiting = setTimeout(ask, 60);
}

find("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  wanted = true;
  if (knobs) submit(); // else as soon as the page has loaded
});

function submit() {
  if (knobs.submit()) {
    ask(true);
    return;
  }
  wanted = false;
  say(find("failed"), "Type a question first.");
  find("question").focus();
}

addEventListener("popstate", () => {
  if (!knobs?.reread()) return;
  if (knobs.question) ask();
  else clear();
});
find("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  find("ask").requestSubmit();
});

// ---- a reader, and the files to take away

find("reader-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  reading?.abort();
  reading = new AbortController();
  await askReader(find("answers"), id, view, shown, find("reader").value, play, reading.signal);
});

for (const button of find("exports").querySelectorAll("button")) button.addEventListener("click", () => take(button, id, shown));

// ---- start

let states = "";
function heard(jobs) {
  const job = jobs.find((one) => one.video === id) ?? null;
  if (!job) return;
  if (job.id + job.state !== states) {
    states = job.id + job.state;
    refresh().catch(tell);
    return;
  }
  video.job = job;
  if (video.ready) drawWords(video, choices.subtitle_endings, takeSubtitles);
  const going = document.querySelector(`[data-job="${job.id}"]`);
  if (!going) return;
  going.querySelector("progress").replaceWith(jobBar(job));
  going.querySelector("p span").textContent = jobWords(job);
}

/** The server is there again, or the page is. What failed meanwhile is done once more. */
function back() {
  say(find("failed"), "");
  refresh().catch(tell);
  player.retry();
  if (stale) ask();
  else if (view) drawCards();
}

try {
  choices = await get("/api/choices");
  await refresh();
  knobs = new Knobs(choices, turned);
  watchJobs(heard, () => say(find("failed"), GONE), back);
  if (wanted) submit();
  else if (knobs.question) ask();
  else if (!video.problem) find("question").focus({ preventScroll: true });
} catch (error) {
  if (!error.status || error.status >= 500) setTimeout(() => location.reload(), 5000); // it may be there again
  document.body.classList.add("alone");
  find("ask").hidden = true;
  say(find("failed"), error.message);
  find("failed").after(el("p", {}, el("a", { href: "/" }, "Back to the library")));
}
