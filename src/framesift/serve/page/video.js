// One video: its player, a question, and the frames that answer it, redrawn whenever a knob is turned.
import { askReader } from "./answer.js";
import { drawLanes, markCard, rolePill } from "./cards.js";
import { el, find, get, GONE, jobBar, jobWords, post, request, say, send, sorted, watchJobs, wordsLine } from "./common.js";
import { clock, nearest } from "./scale.js";
import { Knobs } from "./settings.js";
import { drawTimeline } from "./timeline.js";

const id = location.pathname.split("/").at(-1);
const film = find("film");
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

let playable = true;
let seekTo = null;

function unplayable() {
  if (!playable) return;
  playable = false;
  film.hidden = true;
  find("still").hidden = false;
  if (!find("still").getAttribute("src")) find("still").src = `/api/videos/${id}/thumbnail.jpg?v=${video?.version ?? ""}`;
  const format = video?.codec ? ` (${video.codec})` : "";
  find("hint").textContent = "Point at the timeline to see a frame, click it to look at it.";
  say(find("unplayable"), `This browser can't play the video's format${format}. Its frames are shown all the same: click one to see it here.`);
}

// Only where the server still has the video is its format to blame.
film.addEventListener("error", async () => {
  const lost = film.error?.code === MediaError.MEDIA_ERR_NETWORK;
  if (film.currentTime) seekTo = film.currentTime;
  try {
    await get(`/api/videos/${id}`);
    if (!lost) unplayable();
  } catch (error) {
    tell(error);
  }
});
film.addEventListener("loadedmetadata", () => {
  if (!film.videoWidth) return unplayable(); // sound only: the pictures are in a format the browser does not know
  if (seekTo !== null) film.currentTime = seekTo;
  seekTo = null;
  return undefined;
});

/** Where the video stands, once it has been moved. */
function showPlace() {
  if (playable) timeline?.playing(film.currentTime || null);
}
for (const name of ["timeupdate", "seeking"]) film.addEventListener(name, showPlace);

let picked = null; // the frame that was pressed last
function play(time_s, picture, frame) {
  picked = frame ?? null;
  timeline?.mark(picked);
  markCard(find("lanes"), picked);
  if (!playable) {
    find("still").src = picture ?? pictureNear(time_s).address;
    timeline?.playing(time_s);
    find("still").alt = `The video at ${clock(time_s)}`;
  } else if (film.readyState >= 1) {
    film.currentTime = time_s;
    film.play().catch(() => {}); // where playing needs a press, the controls are there
  } else seekTo = time_s;
  const box = find("player").getBoundingClientRect();
  if (box.bottom < 80 || box.top > innerHeight - 80) find("player").scrollIntoView({ block: "start" });
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
    box.replaceChildren(el("div", { className: "going", "data-job": job.id }, jobBar(job), el("p", {}, el("span", {}, jobWords(job)), " ", cancel), el("p", { className: "fine" }, `This is done once for a video. ${promise}`)));
  } else if (job?.state === "failed") {
    box.replaceChildren(el("p", { className: "problem", role: "alert" }, job.error), indexButton("Try again"));
  } else if (!video.ready) {
    const words = job?.state === "cancelled" ? "Go on indexing" : "Index this video";
    box.replaceChildren(el("p", {}, "Before the first question every second of the video is looked at once. After that an answer takes a moment."), indexButton(words));
  }
  box.hidden = video.ready && job?.state !== "failed";
  if (held) (box.querySelector("button") ?? find("question")).focus();
}

const isOpen = (job) => job?.state === "waiting" || job?.state === "running";

// ---- its words

function drawWords() {
  const { words, ready, job, uploaded } = video;
  const parts = [];
  if (ready && isOpen(job)) parts.push(el("span", {}, `${jobWords(job)} …`));
  else if (ready && words.events) parts.push(el("span", {}, `${wordsLine(words)}.`));
  else if (ready) parts.push(el("span", {}, "No words were found in this video: its pictures alone decide."));
  if (uploaded) parts.push(" ", subtitlesButton(ready && words.events ? "Use other subtitles" : "Add subtitles"));
  else if (ready && !words.events) parts.push(" A subtitle file of the same name beside the video would be found.");
  const notes = ready && !words.events && words.notes.length ? el("details", { className: "lists fine" }, el("summary", {}, "What was looked for"), el("ul", { className: "notes" }, words.notes.map((note) => el("li", {}, note)))) : "";
  find("words").replaceChildren(el("p", { className: "fine" }, parts), notes);
  find("words").hidden = Boolean(video.problem) || !parts.length;
}

function subtitlesButton(words) {
  const input = el("input", { type: "file", accept: choices.subtitle_endings.join(), onchange: (event) => {
    const files = [...event.target.files];
    event.target.value = ""; // so that the same file can be chosen again
    addSubtitles(files);
  } });
  return el("label", { className: "link file" }, input, words);
}

async function addSubtitles(files) {
  const { subtitles, videos } = sorted(files, choices.subtitle_endings);
  say(find("words-failed"), videos.length ? "Only subtitles can be added here; videos are added in the library." : "");
  for (const file of subtitles) {
    try {
      await send(`/api/videos/${id}/subtitles`, file, () => {}).reply;
      await refresh();
    } catch (error) {
      say(find("words-failed"), error.message);
    }
  }
}

addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer?.files.length) addSubtitles([...event.dataTransfer.files]);
});

const indexButton = (words) => el("button", { type: "button", className: "plain", onclick: () => act(() => post(`/api/videos/${id}/index`)) }, words);

async function act(work) {
  try {
    await work();
    await refresh();
  } catch (error) {
    say(find("failed"), error.message);
  }
}

async function refresh() {
  const before = video;
  video = await get(`/api/videos/${id}`);
  document.title = `${video.name} · framesift`;
  find("name").textContent = video.name;
  find("facts").textContent = video.problem ? "" : `${clock(video.duration_s)} · ${video.width} × ${video.height}`;
  if (!film.getAttribute("src") && !video.problem) {
    film.style.aspectRatio = `${video.width} / ${video.height}`;
    film.src = `/api/videos/${id}/file?v=${video.version}`;
  }
  drawState();
  drawWords();
  const other = before && (before.version !== video.version || JSON.stringify(before.words) !== JSON.stringify(video.words));
  if (video.ready && knobs && (wanted || (view && other))) ask();
}

// ---- the question

/** Ask what the knobs say. `pressed`: somebody pressed the button, rather than turned a knob or opened a link. */
async function ask(pressed = false) {
  const asked = knobs.asked;
  if (!asked.question) {
    wanted = false;
    say(find("failed"), view || pressed ? "Type a question first." : "");
    if (pressed) find("question").focus();
    return;
  }
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
    if (error.status === 409) await refresh().catch(tell);
    say(find("failed"), error.message);
  }
  document.body.classList.remove("asking");
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
  else timeline = drawTimeline(find("timeline"), { ...data, onFrame: playFrame, onSeek: (time_s) => play(time_s), pictureNear });
  picked = null;
  timeline.mark(null);
  showPlace();
  find("result").hidden = false;
  find("answers").replaceChildren();
  say(find("export-failed"), "");
  const chosen = view.lanes.map((lane) => lane.frames.length);
  const many = view.lanes.length > 1 ? `${view.lanes.length} × ${Math.max(...chosen)}` : chosen[0];
  const took = view.lanes.reduce((sum, lane) => sum + lane.seconds, 0);
  const time = took < 1 ? `${Math.max(1, Math.round(1000 * took))} ms` : `${took.toFixed(1)} s`;
  find("summary").textContent = `${many} of ${view.curve.times_s.length.toLocaleString("en")} frames, chosen in ${time}.`;
  drawCards();
  drawLegend();
  drawState();
}

function drawCards() {
  drawLanes(find("lanes"), view.lanes, shown.text_mode, find("order").value, play);
  markCard(find("lanes"), picked);
}
find("order").addEventListener("change", drawCards);

let roles = {};
function drawLegend() {
  const there = new Set(view.lanes.flatMap((lane) => lane.frames.map((frame) => frame.role)));
  find("legend").replaceChildren(...Object.entries(roles).filter(([role]) => there.has(role)).map(([role, sentence]) => el("li", {}, rolePill(role), el("p", {}, sentence))));
}

/** The picture of the moment of the video nearest to a time that was looked at when it was indexed. */
function pictureNear(time_s) {
  const times_s = view.curve.times_s;
  const near_s = times_s[nearest(times_s, time_s)] ?? time_s;
  return { address: `/api/videos/${id}/near/${near_s.toFixed(3)}.jpg?v=${video.version}`, width: video.width, height: video.height };
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
  if (!knobs) return; // it is asked as soon as the page has loaded
  const { question } = knobs.asked;
  knobs.write(Boolean(shown) && Boolean(question) && question !== shown.question);
  ask(true);
});
addEventListener("popstate", () => {
  knobs?.reread();
  if (knobs?.asked.question) ask();
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

async function take(button) {
  if (button.getAttribute("aria-disabled") === "true") return;
  const { question, options, budget, methods, text_mode, visual_demand, settings } = shown;
  const asked = new URLSearchParams({ format: button.dataset.format, question, budget, text_mode });
  for (const option of options) asked.append("option", option);
  for (const method of methods) asked.append("method", method);
  if (visual_demand !== null) asked.set("visual_demand", visual_demand);
  if (Object.keys(settings).length) asked.set("settings", JSON.stringify(settings));
  const words = button.textContent;
  button.setAttribute("aria-disabled", "true"); // disabled, it would lose the focus
  button.textContent = "…";
  say(find("export-failed"), "");
  try {
    const reply = await request(`/api/videos/${id}/export?${asked}`);
    const name = decodeURIComponent(/filename\*=UTF-8''([^;]+)/.exec(reply.headers.get("content-disposition"))?.[1] ?? "evidence");
    const address = URL.createObjectURL(await reply.blob());
    el("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  } catch (error) {
    say(find("export-failed"), error.message);
  }
  button.removeAttribute("aria-disabled");
  button.textContent = words;
}
for (const button of find("exports").querySelectorAll("button")) button.addEventListener("click", () => take(button));

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
  const going = document.querySelector(`[data-job="${job.id}"]`);
  if (!going) return;
  going.querySelector("progress").replaceWith(jobBar(job));
  going.querySelector("p span").textContent = jobWords(job);
}

const tell = (error) => say(find("failed"), error.message);

/** The server is there again, or the page is. What failed meanwhile is done once more. */
function back() {
  say(find("failed"), "");
  refresh().catch(tell);
  if (film.error && playable) film.load();
  if (stale) ask();
  else if (view) drawCards();
}

try {
  choices = await get("/api/choices");
  await refresh();
  roles = choices.roles;
  knobs = new Knobs(choices, turned);
  watchJobs(heard, () => say(find("failed"), GONE), back);
  if (wanted || new URLSearchParams(location.search).has("q")) ask();
  else if (!video.problem) find("question").focus({ preventScroll: true });
} catch (error) {
  document.body.classList.add("alone");
  find("ask").hidden = true;
  say(find("failed"), error.message);
  find("failed").after(el("p", {}, el("a", { href: "/" }, "Back to the library")));
}
