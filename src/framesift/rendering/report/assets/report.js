// The report's own behaviour: the timeline, the dialog that opens a frame, playing the video beside it, copying.
import { clock } from "./scale.js";
import { markPath, svgElement } from "./rows.js";
import { drawTimeline } from "./timeline.js";

const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);

// A picture that stands in several places is written into the page once; the other places take it from there.
const pictures = new Map();
for (const img of document.querySelectorAll("img[data-picture]")) pictures.set(img.dataset.picture, img.src);
for (const img of document.querySelectorAll("img[data-same]")) img.src = pictures.get(img.dataset.same);

function addMark(pill, role) {
  const svg = svgElement("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" });
  svgElement("path", { d: markPath(role, 6.5) }, svg);
  pill.prepend(svg);
}
for (const pill of document.querySelectorAll(".role[data-role]")) addMark(pill, pill.dataset.role);

const cards = new Map([...document.querySelectorAll(".card")].map((card) => [card.dataset.frame, card]));
const frames = new Map();
for (const lane of data.lanes) {
  for (const frame of lane.frames) {
    frame.picture = cards.get(frame.id).querySelector(".shot img")?.src;
    frames.set(frame.id, { ...frame, lane });
  }
}

// ---- a question too long to show whole

const question = document.querySelector(".folded");
if (question && question.scrollHeight > question.clientHeight + 4) {
  const more = document.createElement("button");
  more.type = "button";
  more.className = "plain";
  more.id = "more";
  const set = (open) => {
    question.classList.toggle("unfolded", open);
    more.textContent = open ? "Show less" : "Show all";
    more.setAttribute("aria-expanded", open);
  };
  set(false);
  more.addEventListener("click", () => set(more.getAttribute("aria-expanded") === "false"));
  const row = document.createElement("p");
  row.className = "row";
  row.append(more);
  question.after(row);
}

// ---- the dialog

const dialog = find("frame");
const stage = dialog.querySelector(".stage");
let shown = null;
let giveFocusBack = () => {};

function stopVideo() {
  const video = stage.querySelector("video");
  if (!video) return;
  video.pause();
  video.removeAttribute("src");
  video.load(); // lets go of the file
}

function offerToPlay() {
  find("play").textContent = `Play from ${clock(shown.time_s)}`;
}

function showPicture(id) {
  const picture = cards.get(id).querySelector(".shot img")?.cloneNode();
  if (picture) picture.loading = "eager";
  stage.replaceChildren(picture ?? "");
}

function show(id) {
  shown = frames.get(id);
  const card = cards.get(id);
  const place = shown.lane.frames.findIndex((frame) => frame.id === id);
  stopVideo();
  find("frame-title").textContent = `Frame ${shown.number} of ${shown.lane.frames.length} · ${clock(shown.time_s)}`;
  const pill = dialog.querySelector(".bar .role");
  pill.className = `role role-${shown.role}`;
  pill.textContent = shown.role;
  addMark(pill, shown.role);
  showPicture(id);
  dialog.querySelector(":scope > .story").replaceChildren(...[...card.querySelector(".story").children].map((c) => c.cloneNode(true)));
  offerToPlay();
  find("played").textContent = "";
  find("before").disabled = place === 0;
  find("after").disabled = place === shown.lane.frames.length - 1;
  dialog.scrollTop = 0;
  timeline.mark(id);
}

function open(id, back) {
  giveFocusBack = back;
  show(id);
  dialog.showModal();
  find("frame-title").focus();
}

function step(by) {
  const all = shown.lane.frames;
  const next = all[all.findIndex((frame) => frame.id === shown.id) + by];
  if (!next) return;
  show(next.id);
  // A button that was just disabled would keep the keys from reaching the dialog.
  if (document.activeElement?.disabled || !dialog.contains(document.activeElement)) find("frame-title").focus();
}

find("before").addEventListener("click", () => step(-1));
find("after").addEventListener("click", () => step(1));
find("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("keydown", (event) => {
  if (event.target.closest("video") || event.altKey || event.ctrlKey || event.metaKey) return; // its own keys, the browser's
  if (event.key === "ArrowLeft") step(-1);
  else if (event.key === "ArrowRight") step(1);
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => {
  if (event.target !== dialog) return;
  const box = dialog.getBoundingClientRect();
  const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  if (!inside) dialog.close();
});
dialog.addEventListener("close", () => {
  stopVideo();
  stage.replaceChildren();
  timeline.mark(null);
  giveFocusBack();
});
for (const [id, card] of cards) {
  const button = card.querySelector(".open");
  button.addEventListener("click", () => open(id, () => button.focus()));
}

// ---- the video beside this page, touched only when asked for

const address = (place) => place.split("/").map(encodeURIComponent).join("/");

function play(frame, places) {
  if (frame !== shown) return;
  if (!places.length) {
    // Isolated, so that a name in another script cannot turn the sentence around.
    const name = `\u2068${data.video.name.slice(0, 120)}\u2069`;
    const where = `The video was not found. Put ${name} into the folder of this page and press again`;
    find("played").textContent = `${where}; if it lies there already, this browser cannot play its format.`;
    return;
  }
  const video = document.createElement("video");
  video.controls = true;
  video.playsInline = true;
  video.preload = "auto";
  let failed = false;
  const next = () => {
    if (failed) return;
    failed = true;
    showPicture(frame.id);
    play(frame, places.slice(1));
  };
  video.addEventListener("error", () => video.hasAttribute("src") && next());
  video.addEventListener("loadedmetadata", () => {
    if (!video.videoWidth) return next(); // sound only: its picture is in a format the browser does not know
    find("played").textContent = "";
    find("play").textContent = "Back to the frame";
    video.currentTime = frame.time_s;
    return video.play().catch(() => {}); // where playing needs a press, the controls are there
  });
  video.src = address(places[0]);
  stage.replaceChildren(video);
}

find("play").addEventListener("click", () => {
  const playing = Boolean(stage.querySelector("video"));
  stopVideo();
  offerToPlay();
  showPicture(shown.id);
  if (playing) return;
  find("played").textContent = "Looking for the video …";
  play(shown, data.video.beside);
});

// ---- copying

find("copy").addEventListener("click", async () => {
  const box = find("json");
  let done = false;
  try {
    await navigator.clipboard.writeText(box.value);
    done = true;
  } catch {
    // Pages opened from disk have no clipboard in some browsers; the old way, and failing that the reader's own hands.
    box.focus();
    box.select();
    done = document.execCommand("copy");
  }
  find("copied").textContent = done ? "Copied." : "The text is selected: press Ctrl+C or ⌘C to copy it.";
});

const timeline = drawTimeline(document.querySelector("#timeline .well"), {
  ...data,
  onFrame: (id) => open(id, () => timeline.focus(id)),
});

// ---- a link to one frame, as report.html#frame-3

function openLinked() {
  const card = /^#frame-\d+$/.test(location.hash) && find(location.hash.slice(1));
  if (!card || dialog.open) return;
  open(card.dataset.frame, () => card.querySelector(".open").focus());
}
addEventListener("hashchange", openLinked);
openLinked();
