// The library page: its videos, their state, and uploads.
import {
  counted,
  el,
  find,
  formatSize,
  get,
  linkButton,
  newest,
  post,
  RequestError,
  redraw,
  request,
  showMessage,
  splitFiles,
  textSummary,
  UNREACHABLE,
  update,
  uploadFile,
  videoFor,
} from "./common.js";
import { setUpHelp } from "./help.js";
import { isOpen, jobRow, progressText } from "./jobs.js";
import { checkMarks, markBox, searchImage, setUpSearch } from "./search.js";
import { lengthText } from "./shared.js";
import { watchJobs } from "./stream.js";

let library = { videos: [], upload_bytes: 0, folder: "" };
let endings = []; // of subtitle files
let sampleJob = null;

// ---- cards

function stateOf(video) {
  const job = video.job;
  if (video.problem) return el("p", { className: "problem" }, video.problem);
  if (!video.known) return el("p", { className: "fine" }, "Reading the file …");
  if (isOpen(job)) return jobRow(job, act);
  if (job?.state === "failed")
    return el("div", {}, el("p", { className: "problem" }, job.error), indexButton(video, "Try again"));
  const warnings = video.warnings.length
    ? el("span", { className: "caution", title: video.warnings.join("\n") }, counted(video.warnings.length, "warning"))
    : "";
  if (video.ready) {
    return el("p", { className: "fine ready" }, `Ready · ${textSummary(video.words)}`, warnings && " · ", warnings);
  }
  const label = job?.state === "cancelled" ? "Resume indexing" : "Index video";
  return el("div", {}, indexButton(video, label), warnings && " · ", warnings);
}

function indexButton(video, label) {
  const index = () => act(() => post(`/api/videos/${video.id}/index`));
  return linkButton(label, `${label}: ${video.name}`, index, { className: "plain small" });
}

function removeButton(video) {
  const remove = () => {
    if (confirm(`Delete ${video.name} from this server? Your original file is not affected.`)) {
      act(() => request(`/api/videos/${video.id}`, { method: "DELETE" }));
    }
  };
  return linkButton("Delete", `Delete ${video.name}`, remove);
}

function card(video) {
  const usable = video.known && !video.problem;
  const facts = usable ? `${lengthText(video.duration_s)} · ${video.width} × ${video.height}` : "";
  const image = usable
    ? el("img", {
        src: `/api/videos/${video.id}/thumbnail.jpg?v=${video.version}`,
        alt: "",
        loading: "lazy",
        onerror: (event) => event.target.remove(),
      })
    : el("span", { "aria-hidden": "true" }, video.problem ? "!" : "…");
  const name = el("bdi", {}, video.name);
  const title = usable ? el("a", { href: `/video/${video.id}` }, name) : name;
  return el(
    "li",
    { key: video.id, className: `video-card${usable ? "" : " unusable"}`, "data-video": video.id },
    el("div", { className: "thumb" }, image),
    el(
      "div",
      { className: "about" },
      el("h3", { title: video.name }, title),
      el("p", { className: "fine" }, facts, " ", video.uploaded ? removeButton(video) : ""),
      stateOf(video),
      video.indexed && library.videos.length > 1 ? markBox(video) : "",
    ),
  );
}

function sampleCard(job) {
  const failed = job.state === "failed";
  const state = failed ? el("p", { className: "problem" }, job.error) : jobRow(job, act);
  return el(
    "li",
    { key: "sample", className: "video-card unusable" },
    el("div", { className: "thumb" }, el("span", { "aria-hidden": "true" }, "…")),
    el("div", { className: "about" }, el("h3", {}, "Sample video"), state),
  );
}

const ORDERS = {
  name: (a, b) => a.name.localeCompare(b.name),
  longest: (a, b) => b.duration_s - a.duration_s,
  ready: (a, b) => b.ready - a.ready,
};

/** The videos as filtered and sorted. */
function shownVideos() {
  const filter = find("filter").value.trim().toLowerCase();
  const shown = library.videos.filter((video) => video.name.toLowerCase().includes(filter));
  return find("sort").value ? shown.sort(ORDERS[find("sort").value]) : shown;
}
find("filter").addEventListener("input", () => draw());
find("sort").addEventListener("change", () => draw());

const notIndexed = () =>
  library.videos.filter((video) => video.known && !video.problem && !video.ready && !isOpen(video.job));
find("index-all").addEventListener("click", () =>
  act(async () => {
    for (const video of notIndexed()) await post(`/api/videos/${video.id}/index`);
  }),
);

function draw() {
  const cards = shownVideos().map(card);
  find("list-tools").hidden = library.videos.length < 2;
  find("index-all").hidden = !notIndexed().length;
  // Its controls do nothing before the choices are loaded.
  find("search-box").hidden = !endings.length || !library.videos.some((video) => video.indexed);
  checkMarks(library.videos);
  const isListed = library.videos.some((video) => video.id === sampleJob?.video);
  const isPending = sampleJob && !isListed && ["running", "waiting", "failed"].includes(sampleJob.state);
  if (isPending) cards.unshift(sampleCard(sampleJob));
  redraw(find("video-list"), ...cards);
  const isEmpty = !cards.length && !library.videos.length;
  find("videos").hidden = isEmpty && !library.folder;
  document.body.classList.toggle("empty", isEmpty);
  const ready = library.videos.filter((video) => video.ready).length;
  find("count").textContent = !isEmpty
    ? `${counted(library.videos.length, "video")}, ${ready} ready`
    : `No videos in ${library.folder}.`;
  find("limit").textContent = library.upload_bytes
    ? `Any length, up to ${formatSize(library.upload_bytes)}. Videos stay on the machine that runs framesift.`
    : "";
}

// ---- updates from the server

let refreshTimer = 0;
const loadVideos = newest(() => get("/api/videos"), showVideos);
async function refresh() {
  clearTimeout(refreshTimer);
  try {
    await loadVideos();
  } catch (error) {
    find("videos").hidden = false;
    showMessage(find("error"), error.message);
  }
}

function showVideos(loaded) {
  library = loaded;
  showMessage(find("error"), "");
  draw();
  const sample = library.videos.find((video) => video.id === sampleJob?.video && video.known);
  if (isSampleWanted && sample) location.href = `/video/${sample.id}`;
  clearTimeout(refreshTimer);
  if (library.videos.some((video) => !video.known)) refreshTimer = setTimeout(refresh, 1000);
}

async function act(work) {
  try {
    await work();
    await refresh();
  } catch (error) {
    showMessage(find("error"), error.message);
  }
}

let lastStates = "";
let isSampleWanted = false; // opened as soon as it is listed
function onJobs(jobs) {
  const running = jobs.find((job) => job.state === "running");
  const done = running ? progressText(running) : "";
  document.title = `${done && `${done} · `}framesift`;
  sampleJob = jobs.find((job) => job.kind === "sample") ?? null;
  const states = jobs.map((job) => job.id + job.state + (job.kind === "sample" ? job.phase : "")).join();
  if (states !== lastStates) {
    lastStates = states;
    refresh();
    return;
  }
  for (const job of jobs) {
    const row = find("video-list").querySelector(`[data-job="${job.id}"]`);
    if (row) update(row, jobRow(job, act));
  }
}

function onLost() {
  find("videos").hidden = false;
  showMessage(find("error"), UNREACHABLE);
}
watchJobs(onJobs, onLost, refresh);

// ---- uploads

let activeUploads = 0;
addEventListener("beforeunload", (event) => activeUploads && event.preventDefault());

/** Upload one file with a progress row of its own; the server's record of the video, or null. */
async function upload(url, file, checkingLabel) {
  const status = el("span", {}, "0 %");
  const bar = el("progress", { max: 1, value: 0, "aria-label": `Upload of ${file.name}` });
  const line = el("p", { className: "fine status-line" }, status);
  const row = el("div", { className: "job" }, el("bdi", {}, file.name), bar, line);
  find("uploads").append(row);
  find("upload-status").textContent = `Uploading ${file.name}`;
  activeUploads += 1;
  try {
    // Before the library has loaded the limit is unknown; the server checks it anyway.
    if (library.upload_bytes && file.size > library.upload_bytes) {
      throw new RequestError(
        `${formatSize(file.size)} is more than ${formatSize(library.upload_bytes)}, this server's limit.`,
      );
    }
    const { reply, stop } = uploadFile(url, file, (share) => {
      bar.value = share;
      status.textContent = share < 1 ? `${Math.floor(100 * share)} %` : checkingLabel;
    });
    line.prepend(linkButton("Cancel", `Cancel the upload of ${file.name}`, stop));
    const video = await reply;
    if (row.contains(document.activeElement)) find("file").focus();
    row.remove();
    find("upload-status").textContent = video ? `${file.name} was uploaded` : "";
    return video;
  } catch (error) {
    row.remove();
    showUploadError(file.name, error.message);
    return null;
  } finally {
    activeUploads -= 1;
  }
}

function showUploadError(name, message) {
  const dismiss = () => {
    row.remove();
    find("file").focus();
  };
  const button = linkButton("Dismiss", `Dismiss the message about ${name}`, dismiss);
  const row = el(
    "div",
    { className: "upload-error" },
    el("bdi", {}, name),
    el("p", { className: "problem", role: "alert" }, message),
    button,
  );
  find("uploads").append(row);
}

/** Upload videos, each followed by its subtitles: with one video all of them, with several those of its name. */
async function uploadAll(files) {
  const { subtitles, videos } = splitFiles(files, endings);
  const uploaded = [];
  for (const old of find("uploads").querySelectorAll(".upload-error")) old.remove();
  const earlier = library.videos.filter((video) => video.uploaded);
  for (const file of videos) {
    const video = await upload("/api/uploads", file, "Checking the video …");
    if (video) uploaded.push(video);
    for (const subtitle of subtitles) {
      const matches = videos.length === 1 || videoFor(subtitle, videos) === file;
      if (video && matches) await upload(`/api/videos/${video.id}/subtitles`, subtitle, "Checking the subtitles …");
    }
  }
  for (const file of subtitles) {
    if (videos.length === 1 || videoFor(file, videos)) continue;
    const video = videoFor(file, earlier);
    if (video) await upload(`/api/videos/${video.id}/subtitles`, file, "Checking the subtitles …");
    else
      showUploadError(
        file.name,
        "No uploaded video has this name. Drop both files together, or open the video and add the subtitles there.",
      );
  }
  const failed = find("uploads").querySelector(".upload-error") !== null;
  if (videos.length === 1 && uploaded.length === 1 && !failed) location.href = `/video/${uploaded[0].id}`;
  else refresh();
}

find("file").addEventListener("change", (event) => {
  const files = [...event.target.files];
  event.target.value = ""; // so that the same file can be chosen again
  uploadAll(files);
});
find("sample").addEventListener("click", () => {
  const sample = library.videos.find((video) => video.id === sampleJob?.video);
  if (sample) location.href = `/video/${sample.id}`;
  else {
    isSampleWanted = true;
    act(() => post("/api/sample"));
  }
});
const zone = find("drop");
for (const name of ["dragenter", "dragover"]) {
  addEventListener(name, (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
}
addEventListener("dragleave", (event) => event.relatedTarget === null && zone.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  zone.classList.remove("over");
  const files = [...(event.dataTransfer?.files ?? [])];
  if (files.length && !searchImage(files)) uploadAll(files);
});

get("/api/choices").then((choices) => {
  setUpSearch(choices);
  endings = choices.subtitle_endings;
  refresh();
  find("file").accept += `,${endings.join()}`;
}, onLost);
setUpHelp("library");
