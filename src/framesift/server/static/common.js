// What every page of the server needs: asking it, hearing from it, and building elements from text that is never markup.

/** An element with properties, attributes (data-, aria-, role, for) and children; strings become text. */
export function el(name, given = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export const find = (id) => document.getElementById(id);

/** Set a box's sentence, and hide the box where there is none. */
export function say(box, sentence) {
  box.textContent = sentence ?? "";
  box.hidden = !sentence;
}

export const GONE = "The server does not answer. Is framesift serve still running?";
const AGAIN_MS = 4000;

export class Failure extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

async function sentenceOf(reply) {
  try {
    return (await reply.json()).detail || `The server answered ${reply.status}.`;
  } catch {
    return `The server answered ${reply.status}.`;
  }
}

/** Fetch from the server; anything but success is a Failure with a sentence for the page. */
export async function request(path, given = {}) {
  let reply;
  try {
    reply = await fetch(path, given);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(GONE, 0);
  }
  if (!reply.ok) throw new Failure(await sentenceOf(reply), reply.status);
  return reply;
}

export async function get(path, given) {
  return (await request(path, given)).json();
}

export async function post(path, body, given = {}) {
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body ?? {}) };
  return (await request(path, { ...sent, ...given })).json();
}

/**
 * Hear of every change to the queue, for as long as the page is looked at. onLost is called when the server has been away
 * for a while, onBack whenever it is there again, and when the browser brings the page back as it was left.
 */
export function watchJobs(onJobs, onLost, onBack) {
  let stream = null;
  let lost = 0;
  let again = 0;
  const close = () => {
    clearTimeout(again);
    stream?.close();
  };
  const open = () => {
    close();
    stream = new EventSource("/api/stream");
    stream.addEventListener("jobs", (event) => onJobs(JSON.parse(event.data)));
    stream.addEventListener("open", () => {
      if (lost) onBack();
      clearTimeout(lost);
      lost = 0;
    });
    stream.addEventListener("error", () => {
      // A stream that broke off comes back by itself; one that was refused does not.
      if (stream.readyState === EventSource.CLOSED) again = setTimeout(open, AGAIN_MS);
      lost ||= setTimeout(onLost, AGAIN_MS);
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

const begun = new Map(); // where a job's phase stood when this page first saw it: it may have begun long before

/** "about 2 min left", from how fast a job's phase has moved since this page looks on; "" where it can't be told. */
export function timeLeft(job) {
  if (!job.total || job.state !== "running") return "";
  const key = `${job.id} ${job.phase}`;
  if (!begun.has(key)) begun.set(key, { done: job.done, at: performance.now() });
  const { done, at } = begun.get(key);
  const since = (performance.now() - at) / 1000;
  if (since < 2 || job.done <= done) return "";
  const left = ((job.total - job.done) * since) / (job.done - done);
  return left < 50 ? `about ${Math.max(5, Math.round(left / 5) * 5)} s left` : `about ${Math.max(1, Math.round(left / 60))} min left`;
}

const PHASES = {
  starting: "Starting",
  indexing: "Looking at every second",
  "making the video": "Making the sample video",
  "looking for words": "Looking for subtitles and speech",
  "speech recognition": "Listening to the speech",
  "screen text": "Reading what is on the screen",
  "reading the words": "Reading the words",
};

export const isOpen = (job) => job?.state === "waiting" || job?.state === "running";

/** What a running or waiting job is doing, in words. */
export function jobWords(job) {
  if (job.state === "waiting") return "Waiting for its turn";
  const share = job.total ? ` · ${Math.floor((100 * job.done) / job.total)} %` : "";
  const left = timeLeft(job);
  return `${PHASES[job.phase] ?? job.phase}${share}${left ? ` · ${left}` : ""}`;
}

export function jobBar(job) {
  const bar = el("progress", { "aria-label": `Progress of ${job.name}` });
  if (job.state === "running" && job.total) Object.assign(bar, { max: job.total, value: job.done });
  else if (job.state === "waiting") Object.assign(bar, { max: 1, value: 0 });
  return bar;
}

/** "13 lines of text from sample.srt", or that there are none. */
export function wordsLine(words) {
  if (!words) return "";
  if (!words.events) return "no words found in it";
  const lines = words.events === 1 ? "1 line of text" : `${words.events} lines of text`;
  const isolated = (name) => `\u2068${name}\u2069`; // so that no name turns the line around
  return `${lines} from ${words.sources.map((source) => isolated(source.name)).join(", ")}`;
}

/** Send a file as it is; onShare hears how much of it has gone. Gives {reply, stop()}; the reply fails with a sentence. */
export function send(address, file, onShare) {
  const sending = new XMLHttpRequest(); // fetch does not tell how far an upload has come
  const reply = new Promise((resolve, reject) => {
    sending.upload.addEventListener("progress", (event) => onShare(event.loaded / event.total));
    sending.addEventListener("load", () => {
      let told = {};
      try {
        told = JSON.parse(sending.responseText);
      } catch {
        // no words of ours, as of a proxy in between
      }
      if (sending.status === 200) resolve(told);
      else reject(new Failure(told.detail ?? `The server answered ${sending.status}.`, sending.status));
    });
    sending.addEventListener("abort", () => resolve(null));
    sending.addEventListener("error", () => reject(new Failure("The upload broke off. Is framesift serve still running?", 0)));
    sending.open("POST", `${address}?name=${encodeURIComponent(file.name)}`);
    sending.setRequestHeader("content-type", "application/octet-stream");
    sending.send(file);
  });
  return { reply, stop: () => sending.abort() };
}

/** Which of these files are subtitles, and which are taken for videos. */
export function sorted(files, endings) {
  const isSubtitles = (file) => endings.some((ending) => file.name.toLowerCase().endsWith(ending));
  return { subtitles: files.filter(isSubtitles), videos: files.filter((file) => !isSubtitles(file)) };
}

/** The video, out of several, that a subtitle file belongs to by its name: "ep1.en.srt" is of "ep1.mp4", not of "ep10.mp4". */
export function owner(subtitles, videos) {
  const stem = (name) => name.replace(/\.[^.]*$/, "").toLowerCase();
  const own = stem(subtitles.name);
  const fits = videos.filter((video) => own === stem(video.name) || own.startsWith(`${stem(video.name)}.`));
  return fits.sort((a, b) => b.name.length - a.name.length)[0] ?? null;
}

export function size(bytes) {
  return bytes >= 1e9 ? `${+(bytes / 1e9).toFixed(1)} GB` : `${Math.max(1, Math.round(bytes / 1e6))} MB`;
}
