// Shared by all pages: requests, uploads, and elements built from text, never from markup.

const GIVEN = Symbol("given"); // the properties an element was made with

/** Create an element with properties, attributes (data-, aria-, role, for) and children; strings become text. */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  give(element, properties);
  element.append(...present(children));
  return element;
}

const present = (children) => children.flat().filter((child) => child !== null && child !== undefined && child !== "");

/** Set the properties that differ from those given before: what the user or the browser has changed since stays. */
function give(element, properties) {
  const before = element[GIVEN];
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === before?.[key]) continue;
    if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element[GIVEN] = properties;
}

/** What an update does not change: an element's tag, key (among those of a list), image, and which properties it has. */
function kindOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return "text";
  if (!node[GIVEN]) return node.outerHTML;
  const { key, src, ...given } = node[GIVEN];
  const names = Object.keys(given).filter((name) => given[name] !== undefined && given[name] !== null);
  return [node.localName, key, src, ...names].join("\n");
}

/** Update an element in place to what another one of the same kind is. */
export function update(element, fresh) {
  if (element.nodeType === Node.TEXT_NODE) {
    if (element.data !== fresh.data) element.data = fresh.data;
  } else if (fresh[GIVEN]) {
    give(element, fresh[GIVEN]);
    redraw(element, ...fresh.childNodes);
  }
}

/**
 * Make these the children of a box. Those of the same kind as one already there update it in place, and the others keep
 * theirs, so that a press or the focus survives. If the focused element is removed, one beside it gets the focus.
 */
export function redraw(box, ...children) {
  const focused = box.contains(document.activeElement) ? document.activeElement : null;
  const fresh = document.createDocumentFragment();
  fresh.append(...present(children));
  const old = Map.groupBy(box.childNodes, kindOf);
  const wanted = [...fresh.childNodes].map((child) => {
    const kept = old.get(kindOf(child))?.shift();
    if (kept) update(kept, child);
    return kept ?? child;
  });
  for (const gone of [...old.values()].flat()) gone.remove();
  let place = box.firstChild;
  for (const child of wanted) {
    if (child === place) place = place.nextSibling;
    else box.insertBefore(child, place);
  }
  if (focused && document.activeElement !== focused) refocus(focused, box);
}

/** Focus an element again, or else the first one near where it was that can have the focus. */
function refocus(focused, box) {
  const candidates = [focused];
  for (let around = box; around; around = around.parentElement)
    candidates.push(...around.querySelectorAll("button, a, input, textarea, summary"));
  candidates.find((one) => {
    one.focus({ preventScroll: true });
    return document.activeElement === one;
  });
}

/** A button that looks like a link; `name` is its accessible name. */
export const linkButton = (label, name, onclick, more = {}) =>
  el("button", { type: "button", className: "link", "aria-label": name, onclick, ...more }, label);

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

/** A function that loads and shows something, unless what a later call has loaded is shown already. */
export function newest(load, show) {
  let called = 0;
  let shown = 0;
  return async () => {
    called += 1;
    const call = called;
    const loaded = await load();
    if (call < shown) return;
    shown = call;
    show(loaded);
  };
}

/** Send JSON, by POST unless the options say otherwise. */
export const send = (path, body, options) =>
  request(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body ?? {}),
    ...options,
  });

export const post = async (path, body, options) => (await send(path, body, options)).json();

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
