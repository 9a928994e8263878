// Shared by all pages: requests, the event stream of jobs, uploads, and elements built from text, never from markup.

/** Create an element with properties, attributes (data-, aria-, role, for) and children; strings become text. */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** "1 frame", "2 frames", "1,200 frames". */
export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** A box with what is uncertain or wrong in a video; "" without warnings. */
export function warningBox(warnings) {
  if (!warnings.length) return "";
  const title = warnings.length === 1 ? "Warning about this video" : "Warnings about this video";
  const items = warnings.map((warning) => el("li", { dir: "auto" }, warning));
  return el("aside", { className: "warnings", "aria-label": title }, el("h2", {}, title), el("ul", {}, items));
}

export const find = (id) => document.getElementById(id);

/** Show a message in an element, or hide the element without one. */
export function showMessage(element, message) {
  element.textContent = message ?? "";
  element.hidden = !message;
}

export const UNREACHABLE = "The server does not respond. Is framesift serve still running?";
const RETRY_MS = 4000;

export class RequestError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function errorMessage(reply) {
  try {
    return (await reply.json()).detail || `The server responded with status ${reply.status}.`;
  } catch {
    return `The server responded with status ${reply.status}.`;
  }
}

/** Fetch from the server; anything but success is a RequestError with a message for the page. */
export async function request(path, options = {}) {
  let reply;
  try {
    reply = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(UNREACHABLE, 0);
  }
  if (!reply.ok) throw new RequestError(await errorMessage(reply), reply.status);
  return reply;
}

export async function get(path, options) {
  return (await request(path, options)).json();
}

export async function post(path, body, options = {}) {
  const defaults = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body ?? {}),
  };
  return (await request(path, { ...defaults, ...options })).json();
}

/**
 * Subscribe to the jobs while the page is shown. onLost is called when the server has not responded for a while, onBack
 * when it does again and when the browser restores the page from its cache.
 */
export function watchJobs(onJobs, onLost, onBack) {
  let stream = null;
  let lostTimer = 0;
  let retryTimer = 0;
  const close = () => {
    clearTimeout(retryTimer);
    stream?.close();
  };
  const open = () => {
    close();
    stream = new EventSource("/api/stream");
    stream.addEventListener("jobs", (event) => onJobs(JSON.parse(event.data)));
    stream.addEventListener("open", () => {
      if (lostTimer) onBack();
      clearTimeout(lostTimer);
      lostTimer = 0;
    });
    stream.addEventListener("error", () => {
      // The browser reconnects a stream that broke off, but not one that was refused.
      if (stream.readyState === EventSource.CLOSED) retryTimer = setTimeout(open, RETRY_MS);
      lostTimer ||= setTimeout(onLost, RETRY_MS);
    });
  };
  open();
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    open();
    onBack();
  });
}

const firstSeen = new Map(); // each job phase's progress when this page first saw it, maybe long after its start

/** "about 2 min left", from the phase's speed since this page first saw it; "" where that is unknown. */
export function timeLeft(job) {
  if (!job.total || job.state !== "running") return "";
  const key = `${job.id} ${job.phase}`;
  if (!firstSeen.has(key)) firstSeen.set(key, { done: job.done, at: performance.now() });
  const { done, at } = firstSeen.get(key);
  const elapsed = (performance.now() - at) / 1000;
  if (elapsed < 2 || job.done <= done) return "";
  const left = ((job.total - job.done) * elapsed) / (job.done - done);
  return left < 50
    ? `about ${Math.max(5, Math.round(left / 5) * 5)} s left`
    : `about ${Math.max(1, Math.round(left / 60))} min left`;
}

const PHASES = {
  starting: "Starting",
  indexing: "Indexing the frames",
  "sample video": "Generating the sample video",
  "speech recognition": "Recognising speech",
  "screen text": "Reading on-screen text",
  "encoding text": "Encoding the text",
};

export const isOpen = (job) => job?.state === "waiting" || job?.state === "running";

/** Describe what a running or waiting job is doing. */
export function jobStatus(job) {
  if (job.state === "waiting") return "Waiting for other videos";
  const share = job.total ? ` · ${Math.floor((100 * job.done) / job.total)} %` : "";
  const left = timeLeft(job);
  return `${PHASES[job.phase] ?? job.phase}${share}${left ? ` · ${left}` : ""}`;
}

export function jobProgress(job) {
  const bar = el("progress", { "aria-label": `Progress of ${job.name}` });
  if (job.state === "running" && job.total) Object.assign(bar, { max: job.total, value: job.done });
  else if (job.state === "waiting") Object.assign(bar, { max: 1, value: 0 });
  return bar;
}

/** "13 lines of text from sample.srt", or that there are none. */
export function textSummary(words) {
  if (!words) return "";
  if (!words.events) return "no text";
  const lines = `${counted(words.events, "line")} of text`;
  const isolated = (name) => `\u2068${name}\u2069`; // a right-to-left name must not reorder the line
  return `${lines} from ${words.sources.map((source) => isolated(source.name)).join(", ")}`;
}

/** Upload a file; onProgress gets the share sent. Returns {reply, stop()}; the reply rejects with a RequestError. */
export function uploadFile(url, file, onProgress) {
  const upload = new XMLHttpRequest(); // fetch reports no upload progress
  const reply = new Promise((resolve, reject) => {
    upload.upload.addEventListener("progress", (event) => onProgress(event.loaded / event.total));
    upload.addEventListener("load", () => {
      let body = {};
      try {
        body = JSON.parse(upload.responseText);
      } catch {
        // not JSON, for example from a proxy
      }
      if (upload.status === 200) resolve(body);
      else reject(new RequestError(body.detail ?? `The server responded with status ${upload.status}.`, upload.status));
    });
    upload.addEventListener("abort", () => resolve(null));
    upload.addEventListener("error", () =>
      reject(new RequestError("The upload was interrupted. Is framesift serve still running?", 0)),
    );
    upload.open("POST", `${url}?name=${encodeURIComponent(file.name)}`);
    upload.setRequestHeader("content-type", "application/octet-stream");
    upload.send(file);
  });
  return { reply, stop: () => upload.abort() };
}

/** Split files into subtitles and videos by suffix. */
export function splitFiles(files, endings) {
  const isSubtitles = (file) => endings.some((ending) => file.name.toLowerCase().endsWith(ending));
  return { subtitles: files.filter(isSubtitles), videos: files.filter((file) => !isSubtitles(file)) };
}

/** Find the video of a subtitle file by name: "ep1.en.srt" belongs to "ep1.mp4", not to "ep10.mp4". */
export function videoFor(subtitles, videos) {
  const stem = (name) => name.replace(/\.[^.]*$/, "").toLowerCase();
  const wanted = stem(subtitles.name);
  const fits = videos.filter((video) => wanted === stem(video.name) || wanted.startsWith(`${stem(video.name)}.`));
  return fits.sort((a, b) => b.name.length - a.name.length)[0] ?? null;
}

export function formatSize(bytes) {
  return bytes >= 1e9 ? `${+(bytes / 1e9).toFixed(1)} GB` : `${Math.max(1, Math.round(bytes / 1e6))} MB`;
}
