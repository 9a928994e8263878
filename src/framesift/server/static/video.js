// The page of one video: player, question, and the selected frames, redrawn whenever a setting changes.
import { Answers, keepQuestion } from "./answer.js";
import { drawLanes, highlightCard } from "./cards.js";
import { Chapters } from "./chapters.js";
import { el, find, get, newest, post, showMessage, UNREACHABLE } from "./common.js";
import { download, framesMarkdown } from "./export.js";
import { setUpHelp } from "./help.js";
import { QuestionHistory } from "./history.js";
import { isOpen, progressText } from "./jobs.js";
import { setUpKeys } from "./keys.js";
import { copyButton, Moments } from "./moments.js";
import { Player } from "./player.js";
import { hasModel, setUpReaders } from "./readers.js";
import { drawAroundFrames, lanesOf, openLegend, scrollToResult } from "./result.js";
import { drawExamples, Settings } from "./settings.js";
import { drawTimeline, lengthText, nearest } from "./shared.js";
import { drawState, hasChanged } from "./state.js";
import { watchJobs } from "./stream.js";
import { addSubtitles, drawTextInfo } from "./subtitles.js";
import { Transcript } from "./transcript.js";

const id = location.pathname.split("/").at(-1);
let video = null;
let settings = null;
let view = null;
let shownRequest = null; // the request of the view
let isStale = false; // the last request failed
let timeline = null;
let viewRequest = null; // AbortController of the running view request
let choices = null;
let wantsAnswer = false; // a model is to answer once the frames are found
let isWaiting = false; // a question waits for the video's first frames
let askedCandidates = 0; // how many the last request could use
let askedAt = 0;
let changedAt = 0;

const REDRAW_MS = 3000; // at least, between redraws as more frames are indexed
const PAUSE_MS = 180; // a slider is being dragged until it rests for this long

// ---- player

const showError = (error) => showMessage(find("error"), error.message);
const player = new Player((time_s) => {
  timeline?.playing(time_s);
  transcript.playing(time_s);
}, showError);
const transcript = new Transcript(id, (time_s) => play(time_s));
let pickedFrame = null; // id of the frame clicked last

function play(time_s, imageUrl, frame) {
  pickedFrame = frame ?? null;
  timeline?.mark(pickedFrame);
  highlightCard(find("lanes"), pickedFrame);
  player.play(time_s, imageUrl ?? imageNear(time_s).url);
}

const moments = new Moments({ own: id, onPlay: play });
function showLike(time_s) {
  moments.opener = document.activeElement;
  moments.like(id, time_s);
}

const chapters = new Chapters(id, {
  onPlay: play,
  onPart: (window) => {
    settings.setWindow(window);
    settings.changed(true);
    find("question").focus();
  },
  onLoad: () => drawVideoTimeline(),
});

// ---- state of the video

const showState = () => drawState(video, isWaiting, { act, stopWaiting: () => (isWaiting = false) });

/** The video that is looked at goes to the front of the queue. */
function moveFirst() {
  if (!document.hidden && isOpen(video?.job) && !video.ready) post(`/api/jobs/${video.job.id}/first`).catch(showError);
}
document.addEventListener("visibilitychange", moveFirst);

/** Draw the video's text and warnings; a selection shows the warnings beside its frames. */
function drawText() {
  const shown = view ? { ...video, warnings: [] } : video;
  drawTextInfo(shown, choices.subtitle_endings, uploadSubtitles);
}

async function uploadSubtitles(files) {
  await addSubtitles(id, files, choices.subtitle_endings);
  await refresh().catch(showError);
}
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const files = [...(event.dataTransfer?.files ?? [])];
  if (files.length && !moments.searchImage(files)) uploadSubtitles(files);
});

async function act(work) {
  try {
    await work();
    await refresh();
  } catch (error) {
    showError(error);
  }
}

const refresh = newest(() => get(`/api/videos/${id}`), showVideo);

function showVideo(now) {
  const before = video;
  video = now;
  showProgress();
  find("name").textContent = video.name;
  find("facts").textContent = video.problem ? "" : `${lengthText(video.duration_s)} · ${video.width} × ${video.height}`;
  player.load(video);
  transcript
    .load(video)
    .then(() => chapters.load(video))
    .catch(showError);
  if (choices) drawExamples(video.examples);
  showState();
  drawText();
  if (video.ready && settings?.question && (isWaiting || view?.partial || (view && hasChanged(before, video)))) ask();
}

/** The tab's title: how far indexing is, and the video's name. */
function showProgress() {
  const done = isOpen(video.job) ? progressText(video.job) : "";
  document.title = `${done && `${done} · `}${video.name} · framesift`;
}

// ---- question

/** Ask the submitted question. `pressed`: by the button, not by a changed setting or an opened link. */
async function ask(pressed = false) {
  const body = settings.request;
  clearTimeout(changeTimer);
  if (!video.ready && !isOpen(video.job)) {
    // Cancelled indexing is only resumed by the button.
    isWaiting = pressed || video.job?.state !== "cancelled";
    if (!isWaiting) return showState();
    await act(() => post(`/api/videos/${id}/index`));
    moveFirst();
  }
  if (!video.ready && !video.indexed && isOpen(video.job) && !video.job.candidates) return waitForFrames();
  const isFirst = pressed || isWaiting; // not an update of frames that are shown
  isWaiting = false;
  askedCandidates = video.job?.candidates ?? 0;
  askedAt = performance.now();
  viewRequest?.abort();
  viewRequest = new AbortController();
  const { signal } = viewRequest;
  document.body.classList.add("selecting");
  const from = changedAt || performance.now();
  changedAt = 0;
  const slow = setTimeout(() => showMessage(find("status"), "Selecting frames …"), 300);
  try {
    view = await post(`/api/videos/${id}/view`, body, { signal });
    shownRequest = body;
    isStale = false;
    showMessage(find("error"), "");
    draw();
    performance.measure("redraw", { start: from, end: performance.now() });
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    isStale = true;
    if (error.status !== 409) showError(error);
    else if (isOpen(video.job) && !video.ready) waitForFrames();
    else await indexAgain();
  } finally {
    clearTimeout(slow);
    if (!signal.aborted) {
      viewRequest = null;
      showMessage(find("status"), "");
    }
  }
  document.body.classList.remove("selecting");
  if (isFirst && shownRequest === body) scrollToResult();
  if (wantsAnswer && shownRequest === body && !view.partial) {
    wantsAnswer = false;
    askReader();
  }
  if (view?.partial && video.ready) changeTimer = setTimeout(ask, PAUSE_MS); // it became ready meanwhile
  return undefined;
}

function waitForFrames() {
  isWaiting = true;
  showState();
}

/** Ask again when more of the video is indexed, unless somebody is reading the reasons of a frame. */
function askAgainWithMore(job) {
  const isPartial = isWaiting || Boolean(view?.partial);
  if (!isPartial || viewRequest || job.candidates <= askedCandidates) return;
  const isRead = find("lanes").contains(document.activeElement) || find("lanes").querySelector("details[open]");
  if (isWaiting || (!isRead && performance.now() - askedAt > REDRAW_MS)) ask();
}

/** Index again a file that was replaced or whose index was deleted. */
async function indexAgain() {
  clear();
  await refresh().catch(showError);
  if (video.problem || video.ready) return;
  showMessage(find("error"), "The video file has changed and is being indexed again.");
  await ask(true);
}

/** Hide the result, as before the first question. */
function clear() {
  viewRequest?.abort();
  viewRequest = null;
  document.body.classList.remove("selecting");
  showMessage(find("status"), "");
  view = null;
  shownRequest = null;
  answers.show(null, null);
  keptRequest = "";
  find("result").hidden = true;
  drawVideoTimeline();
  drawText();
}

/** Draw the timeline: of a question, or of the video's chapters and text before one. */
function drawVideoTimeline() {
  const of = view ?? { ...video, events: transcript.events };
  const { duration_s, window, curve, events } = of;
  const { spans } = chapters;
  const isKnown = Boolean(view) || spans.length > 1;
  find("timeline").hidden = !isKnown;
  find("hint").hidden = !isKnown;
  if (!isKnown) return;
  const data = { duration_s, window, curve, events, chapters: spans, lanes: view ? lanesOf(view) : [] };
  if (timeline) timeline.update(data);
  else
    timeline = drawTimeline(find("timeline"), {
      ...data,
      onFrame: playFrame,
      onSeek: (time_s) => play(time_s),
      onWindow: (from_s, to_s) => chooseWindow({ from_s, to_s }),
      imageNear,
    });
  find("zoom-hint").hidden = !timeline.canZoom();
}

function draw() {
  drawVideoTimeline();
  pickedFrame = null;
  timeline.mark(null);
  player.reportPosition();
  find("result").hidden = false;
  keep();
  showMessage(find("export-error"), "");
  if (!view.window && view.events.length !== video.words?.events) refresh().catch(showError); // subtitles were added or changed
  drawText();
  drawCards();
  drawAroundFrames(view, choices, shownRequest.question);
  showState();
}

function drawCards() {
  drawLanes(find("lanes"), view.lanes, {
    video: id,
    onLike: (_, time_s) => showLike(time_s),
    onEdit: (time_s, isRemoved) => settings.edit(time_s, isRemoved),
    pinned_s: shownRequest.pinned_s,
    textMode: shownRequest.text_mode,
    order: find("order").value,
    onPlay: play,
  });
  highlightCard(find("lanes"), pickedFrame);
}
find("order").addEventListener("change", () => {
  settings.write();
  drawCards();
});

/** The image of the indexed frame nearest to a time. */
function imageNear(time_s) {
  const times_s = view?.curve.times_s ?? [];
  const near_s = times_s[nearest(times_s, time_s)] ?? Math.floor(time_s);
  return {
    url: `/api/videos/${id}/frames/${near_s.toFixed(3)}.jpg?v=${video.version}`,
    width: video.width,
    height: video.height,
  };
}

/** Ask about a part of the video only. */
function chooseWindow(window) {
  settings.setWindow(window);
  settings.changed(true);
}
find("whole-video").addEventListener("click", () => chooseWindow({ from_s: null, to_s: null }));

const playFrame = (id, { time_s, image }) => play(time_s, image, id);

let changeTimer = 0;
/** isFinal: the slider was released. */
function onSettingChanged(isFinal = false) {
  changedAt ||= performance.now();
  clearTimeout(changeTimer);
  if (view || isWaiting) changeTimer = setTimeout(ask, isFinal ? 0 : PAUSE_MS);
}

find("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  isWaiting = true;
  if (settings) submit(); // else when the page has loaded
});

function submit() {
  if (settings.submit()) {
    wantsAnswer = hasModel();
    ask(true);
    return;
  }
  isWaiting = false;
  showMessage(find("error"), "Type a question first.");
  find("question").focus();
}

addEventListener("popstate", () => {
  if (!settings?.reread()) return;
  if (settings.question) ask();
  else clear();
});
find("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  find("ask").requestSubmit();
});

// ---- reader and downloads

const answers = new Answers(find("answers"), id, play);
const questions = new QuestionHistory(id, (request) => {
  settings.open(request);
  ask(true);
});
let keptRequest = ""; // the request kept last, as JSON

/** Whether a kept question is the one shown, perhaps with other settings. */
function isAskedAgain(kept) {
  const asked = ({ question, options }) => JSON.stringify([question, options]);
  return Boolean(kept) && asked(kept.request) === asked(shownRequest);
}

/** Keep the question shown, with its settings, and show its answers. */
async function keep() {
  const text = JSON.stringify(shownRequest);
  const shown = view;
  answers.show(isAskedAgain(answers.kept) ? answers.kept : null, view);
  if (text === keptRequest) return undefined;
  try {
    const kept = await keepQuestion(id, shownRequest);
    if (shown !== view || text === keptRequest) return undefined; // another one is shown, or kept meanwhile
    keptRequest = text;
    questions.add(kept);
    answers.show(kept, view);
  } catch (error) {
    showError(error);
  }
  return undefined;
}

/** Show what another tab or browser has asked, named or deleted, and its answers. */
let historyVersion;
async function onHistory(versions) {
  if (versions[id] === historyVersion) return;
  historyVersion = versions[id];
  await questions.load();
  const { kept } = answers;
  if (!kept) return;
  const now = questions.kept.find((one) => one.id === kept.id) ?? null;
  if (!now) keptRequest = ""; // asking a reader keeps it again
  const states = (question) => question?.answers.map((answer) => answer.id + answer.state).join();
  if (states(now) !== states(kept)) answers.show(now, view);
}

async function askReader() {
  if (!answers.kept) await keep();
  if (answers.kept) answers.ask(find("reader").value, shownRequest);
}
find("reader-form").addEventListener("submit", (event) => {
  event.preventDefault();
  askReader();
});

for (const button of find("exports").querySelectorAll("button"))
  button.addEventListener("click", () => download(button, id, { ...shownRequest, kept: answers.kept?.id }));

const framesCopied = () => framesMarkdown(id, shownRequest.question, view.lanes);
find("exports").append(copyButton("Copy", "Copy the frames as Markdown with links", framesCopied));

// ---- start

let lastState = "";
function onJobs(jobs) {
  const job = jobs.find((one) => one.video === id) ?? null;
  if (!job) {
    if (video.job) refresh().catch(showError); // another browser may have deleted the video
    video.job = null;
    return;
  }
  if (job.id + job.state !== lastState) {
    lastState = job.id + job.state;
    refresh().catch(showError);
    return;
  }
  video.job = job;
  showProgress();
  if (video.ready) drawText();
  showState();
  askAgainWithMore(job);
}

/** The server responds again, or the page was restored: repeat what failed meanwhile. */
function onBack() {
  showMessage(find("error"), "");
  refresh().catch(showError);
  player.retry();
  if (isStale) ask();
  else if (view) drawCards();
}

try {
  choices = await get("/api/choices");
  await refresh();
  settings = new Settings(choices, onSettingChanged);
  watchJobs(onJobs, () => showMessage(find("error"), UNREACHABLE), onBack, onHistory);
  moveFirst();
  setUpHelp("video");
  setUpKeys((direction) => timeline?.zoom(direction));
  if (settings.moment_s !== null) player.goTo(settings.moment_s);
  openLegend();
  setUpReaders(choices);
  questions.load();
  if (isWaiting) submit();
  else if (settings.question) ask();
  else if (!video.problem) find("question").focus({ preventScroll: true });
} catch (error) {
  if (!error.status || error.status >= 500) setTimeout(() => location.reload(), 5000); // it may be restarting
  document.body.classList.add("no-player");
  find("ask").hidden = true;
  showMessage(find("error"), error.message);
  find("error").after(el("p", {}, el("a", { href: "/" }, "Back to the library")));
}
