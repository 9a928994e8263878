// The library: what is there, what state it is in, and how a video gets in.
import { el, Failure, find, get, GONE, isOpen, jobBar, jobWords, owner, post, request, say, send, size, sorted, watchJobs, wordsLine } from "./common.js";
import { clock } from "./shared.js";

let library = { videos: [], upload_bytes: 0, folder: "" };
let endings = []; // of subtitle files
let sampleJob = null;

// ---- the cards

function stateOf(video) {
  const job = video.job;
  if (video.problem) return el("p", { className: "problem" }, video.problem);
  if (!video.known) return el("p", { className: "fine" }, "Having a look at it …");
  if (isOpen(job)) {
    return el("div", { className: "going", "data-job": job.id }, jobBar(job), el("p", { className: "fine" }, el("span", {}, jobWords(job)), " ", cancelButton(job)));
  }
  if (job?.state === "failed") return el("div", {}, el("p", { className: "problem" }, job.error), indexButton(video, "Try again"));
  if (video.ready) return el("p", { className: "fine ready" }, `Ready · ${wordsLine(video.words)}`);
  return el("div", {}, indexButton(video, job?.state === "cancelled" ? "Go on indexing" : "Index it"));
}

function indexButton(video, words) {
  const press = () => act(() => post(`/api/videos/${video.id}/index`));
  return el("button", { type: "button", className: "plain small", "aria-label": `${words}: ${video.name}`, onclick: press }, words);
}

function cancelButton(job) {
  const press = () => act(() => request(`/api/jobs/${job.id}`, { method: "DELETE" }));
  return el("button", { type: "button", className: "link", "aria-label": `Cancel ${job.name}`, onclick: press }, "Cancel");
}

function removeButton(video) {
  const press = () => {
    if (confirm(`Remove ${video.name} from this library? Your own copy of it stays where it is.`)) {
      act(() => request(`/api/videos/${video.id}`, { method: "DELETE" }));
    }
  };
  return el("button", { type: "button", className: "link", "aria-label": `Remove ${video.name}`, onclick: press }, "Remove");
}

function card(video) {
  const usable = video.known && !video.problem;
  const length = usable ? `${clock(video.duration_s)} · ${video.width} × ${video.height}` : "";
  const picture = usable
    ? el("img", { src: `/api/videos/${video.id}/thumbnail.jpg?v=${video.version}`, alt: "", loading: "lazy", onerror: (e) => e.target.remove() })
    : el("span", { "aria-hidden": "true" }, video.problem ? "!" : "…");
  const name = el("bdi", {}, video.name);
  const title = usable ? el("a", { href: `/video/${video.id}` }, name) : name;
  return el(
    "li",
    { className: `film${usable ? "" : " unusable"}`, "data-video": video.id },
    el("div", { className: "thumb" }, picture),
    el("div", { className: "about" }, el("h3", { title: video.name }, title), el("p", { className: "fine" }, length, " ", video.uploaded ? removeButton(video) : ""), stateOf(video)),
  );
}

function sampleCard(job) {
  const failed = job.state === "failed";
  const state = failed
    ? el("p", { className: "problem" }, job.error)
    : el("div", { className: "going", "data-job": job.id }, jobBar(job), el("p", { className: "fine" }, el("span", {}, jobWords(job)), " ", cancelButton(job)));
  return el("li", { className: "film unusable" }, el("div", { className: "thumb" }, el("span", { "aria-hidden": "true" }, "…")), el("div", { className: "about" }, el("h3", {}, "The sample video"), state));
}

function draw() {
  const shown = library.videos.map(card);
  const there = library.videos.some((video) => video.id === sampleJob?.video);
  const made = sampleJob && !there && ["running", "waiting", "failed"].includes(sampleJob.state);
  if (made) shown.unshift(sampleCard(sampleJob));
  // What has the focus keeps it, or passes it on to its card.
  const held = find("shelf").contains(document.activeElement) ? document.activeElement : null;
  const [id, label] = [held?.closest("[data-video]")?.dataset.video, held?.getAttribute("aria-label")];
  find("shelf").replaceChildren(...shown);
  if (held) {
    const same = label && [...find("shelf").querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === label);
    const again = find("shelf").querySelector(`[data-video="${id}"]`);
    (same || again?.querySelector(label ? "button, a" : "a") || find("file")).focus();
  }
  find("videos").hidden = !shown.length && !library.folder;
  document.body.classList.toggle("empty", !shown.length);
  const ready = library.videos.filter((video) => video.ready).length;
  find("count").textContent = shown.length ? `${library.videos.length === 1 ? "1 video" : `${library.videos.length} videos`}, ${ready} ready` : `The folder ${library.folder} holds no video.`;
  find("by-path").hidden = !library.folder;
  find("folder").textContent = library.folder;
  find("limit").textContent = library.upload_bytes ? `Any length, up to ${size(library.upload_bytes)}. It stays on the machine that runs this page.` : "";
}

// ---- keeping up with the server

let again = 0;
async function refresh() {
  clearTimeout(again);
  try {
    library = await get("/api/videos");
    say(find("failed"), "");
  } catch (error) {
    find("videos").hidden = false;
    say(find("failed"), error.message);
    return;
  }
  draw();
  if (library.videos.some((video) => !video.known)) again = setTimeout(refresh, 1000);
}

async function act(work) {
  try {
    await work();
    await refresh();
  } catch (error) {
    say(find("failed"), error.message);
  }
}

let states = "";
function heard(jobs) {
  sampleJob = jobs.find((job) => job.kind === "sample") ?? null;
  const now = jobs.map((job) => job.id + job.state + (job.kind === "sample" ? job.phase : "")).join();
  if (now !== states) {
    states = now;
    refresh();
    return;
  }
  for (const job of jobs) {
    const going = document.querySelector(`[data-job="${job.id}"]`);
    if (!going) continue;
    going.querySelector("progress").replaceWith(jobBar(job));
    going.querySelector(".fine span").textContent = jobWords(job);
  }
}

function lost() {
  find("videos").hidden = false;
  say(find("failed"), GONE);
}
watchJobs(heard, lost, refresh);

// ---- getting a video in

let sending = 0; // uploads under way
addEventListener("beforeunload", (event) => sending && event.preventDefault());

/** Send one file with its progress in a row of its own; what the server says of it, or null. */
async function upload(address, file, checking) {
  const words = el("span", {}, "0 %");
  const bar = el("progress", { max: 1, value: 0, "aria-label": `Upload of ${file.name}` });
  const line = el("p", { className: "fine" }, words, " ");
  const row = el("div", { className: "going" }, el("bdi", {}, file.name), bar, line);
  find("uploads").append(row);
  find("told").textContent = `Uploading ${file.name}`;
  sending += 1;
  try {
    // Before the library is there its limit is not known; the server knows it anyway.
    if (library.upload_bytes && file.size > library.upload_bytes) {
      throw new Failure(`${size(file.size)} is more than ${size(library.upload_bytes)}, the most this server takes.`);
    }
    const { reply, stop } = send(address, file, (share) => {
      bar.value = share;
      words.textContent = share < 1 ? `${Math.floor(100 * share)} %` : checking;
    });
    line.append(el("button", { type: "button", className: "link", "aria-label": `Cancel the upload of ${file.name}`, onclick: stop }, "Cancel"));
    const told = await reply;
    if (row.contains(document.activeElement)) find("file").focus();
    row.remove();
    find("told").textContent = told ? `${file.name} is there` : "";
    return told;
  } catch (error) {
    row.remove();
    complain(file.name, error.message);
    return null;
  } finally {
    sending -= 1;
  }
}

function complain(name, sentence) {
  const dismiss = () => {
    row.remove();
    find("file").focus();
  };
  const button = el("button", { type: "button", className: "link", "aria-label": `Dismiss what was said of ${name}`, onclick: dismiss }, "Dismiss");
  const row = el("div", { className: "complaint" }, el("bdi", {}, name), el("p", { className: "problem", role: "alert" }, sentence), button);
  find("uploads").append(row);
}

/** Videos first, each then followed by its subtitles: with one video, whatever they are called; with several, by name. */
async function uploadAll(files) {
  const { subtitles, videos } = sorted(files, endings);
  const kept = [];
  for (const old of find("uploads").querySelectorAll(".complaint")) old.remove();
  const there = library.videos.filter((video) => video.uploaded);
  for (const file of videos) {
    const video = await upload("/api/uploads", file, "Checking that it is a video …");
    if (video) kept.push(video);
    for (const words of subtitles) {
      const own = videos.length === 1 || owner(words, videos) === file;
      if (video && own) await upload(`/api/videos/${video.id}/subtitles`, words, "Reading it …");
    }
  }
  for (const words of subtitles) {
    if (videos.length === 1 || owner(words, videos)) continue;
    const video = owner(words, there);
    if (video) await upload(`/api/videos/${video.id}/subtitles`, words, "Reading it …");
    else complain(words.name, "No video of this name was uploaded. Drop both together, or open the video and add it there.");
  }
  const failed = find("uploads").querySelector(".complaint") !== null;
  if (videos.length === 1 && kept.length === 1 && !failed) location.href = `/video/${kept[0].id}`;
  else refresh();
}

find("file").addEventListener("change", (event) => {
  const files = [...event.target.files];
  event.target.value = ""; // so that the same file can be chosen again
  uploadAll(files);
});
find("sample").addEventListener("click", () => {
  const made = library.videos.find((video) => video.id === sampleJob?.video);
  if (made) location.href = `/video/${made.id}`;
  else act(() => post("/api/sample"));
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
  if (event.dataTransfer?.files.length) uploadAll([...event.dataTransfer.files]);
});
find("add").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await post("/api/videos", { path: find("path").value });
    say(find("add-failed"), "");
    find("path").value = "";
    refresh();
  } catch (error) {
    say(find("add-failed"), error.message);
  }
});

refresh();
get("/api/choices").then((choices) => {
  endings = choices.subtitle_endings;
  find("file").accept += `,${endings.join()}`;
}, lost);
