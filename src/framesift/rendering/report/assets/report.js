// The report: the timeline, the dialog that shows a frame, playing the video, copying the JSON.
const { clock, drawTimeline, markdown, markerPath, roleName, setVideos, svgElement } = globalThis.framesift;

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
setVideos(data.videos);
const videoOf = (frame) => data.videos.findLast(({ start_s }) => frame.time_s >= start_s) ?? data.videos[0];

// An image used several times is embedded once; the other elements refer to it.
const images = new Map();
for (const img of document.querySelectorAll("img[data-image]")) images.set(img.dataset.image, img.src);
for (const img of document.querySelectorAll("img[data-same-as]")) img.src = images.get(img.dataset.sameAs);

function addMarker(label, role) {
  const svg = svgElement("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" });
  svgElement("path", { d: markerPath(role, 6.5) }, svg);
  label.prepend(svg);
}
for (const label of document.querySelectorAll(".role[data-role]")) addMarker(label, label.dataset.role);

const cards = new Map([...document.querySelectorAll(".card")].map((card) => [card.dataset.frame, card]));
const frames = new Map();
for (const lane of data.lanes) {
  for (const frame of lane.frames) {
    frame.image = cards.get(frame.id).querySelector(".shot img")?.src;
    frames.set(frame.id, { ...frame, lane });
  }
}

// ---- answers, which are their Markdown as written where there is no script

function el(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children.flat());
  return element;
}
for (const answer of document.querySelectorAll("[data-markdown]")) {
  answer.classList.add("md");
  answer.replaceChildren(...markdown(answer.textContent, el));
}

// ---- a question too long to be shown in full

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

const dialog = byId("frame");
const stage = dialog.querySelector(".stage");
let shown = null;
let restoreFocus = () => {};

function stopVideo() {
  const video = stage.querySelector("video");
  if (!video) return;
  video.pause();
  video.removeAttribute("src");
  video.load(); // releases the file
}

function resetPlayButton() {
  byId("play").textContent = `Play from ${clock(shown.time_s)}`;
}

function showImage(id) {
  const image = cards.get(id).querySelector(".shot img")?.cloneNode();
  if (image) image.loading = "eager";
  stage.replaceChildren(image ?? "");
}

function show(id) {
  shown = frames.get(id);
  const card = cards.get(id);
  const position = shown.lane.frames.findIndex((frame) => frame.id === id);
  stopVideo();
  byId("frame-title").textContent = `Frame ${shown.number} of ${shown.lane.frames.length} · ${clock(shown.time_s)}`;
  const label = dialog.querySelector(".bar .role");
  label.className = `role role-${shown.role}`;
  label.textContent = roleName(shown.role);
  addMarker(label, shown.role);
  showImage(id);
  dialog
    .querySelector(":scope > .explanation")
    .replaceChildren(...[...card.querySelector(".explanation").children].map((c) => c.cloneNode(true)));
  resetPlayButton();
  byId("play-status").textContent = "";
  byId("previous").disabled = position === 0;
  byId("next").disabled = position === shown.lane.frames.length - 1;
  dialog.scrollTop = 0;
  timeline.mark(id);
}

function open(id, onClose) {
  restoreFocus = onClose;
  show(id);
  dialog.showModal();
  byId("frame-title").focus();
}

function step(by) {
  const all = shown.lane.frames;
  const next = all[all.findIndex((frame) => frame.id === shown.id) + by];
  if (!next) return;
  show(next.id);
  // A button that was just disabled gets no key events, and so neither does the dialog.
  if (document.activeElement?.disabled || !dialog.contains(document.activeElement)) byId("frame-title").focus();
}

byId("previous").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
byId("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("keydown", (event) => {
  if (event.target.closest("video") || event.altKey || event.ctrlKey || event.metaKey) return; // the player's and the browser's own keys
  if (event.key === "ArrowLeft") step(-1);
  else if (event.key === "ArrowRight") step(1);
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => {
  if (event.target !== dialog) return;
  const box = dialog.getBoundingClientRect();
  const inside =
    event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  if (!inside) dialog.close();
});
dialog.addEventListener("close", () => {
  if (dialog.open) return; // again, before this event of the last time
  stopVideo();
  stage.replaceChildren();
  timeline.mark(null);
  restoreFocus();
});
for (const [id, card] of cards) {
  const button = card.querySelector(".open");
  button.addEventListener("click", () => open(id, () => button.focus()));
}

// ---- the video file beside the report, loaded only on request

const urlOf = (path) => path.split("/").map(encodeURIComponent).join("/");

function play(frame, paths) {
  if (frame !== shown) return;
  if (!paths.length) {
    // Isolated, so that a right-to-left name does not reorder the sentence.
    const name = `\u2068${videoOf(frame).name.slice(0, 120)}\u2069`;
    const remedy = `The video was not found. Put ${name} into the folder of this report and try again`;
    byId("play-status").textContent = `${remedy}; if it is already there, this browser can't play its format.`;
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
    showImage(frame.id);
    play(frame, paths.slice(1));
  };
  video.addEventListener("error", () => video.hasAttribute("src") && next());
  video.addEventListener("loadedmetadata", () => {
    if (!video.videoWidth) return next(); // audio only: the browser does not support the video codec
    byId("play-status").textContent = "";
    byId("play").textContent = "Back to the frame";
    video.currentTime = frame.time_s - videoOf(frame).start_s;
    return video.play().catch(() => {}); // if autoplay is blocked, the user has the controls
  });
  video.src = urlOf(paths[0]);
  stage.replaceChildren(video);
}

byId("play").addEventListener("click", () => {
  const wasPlaying = Boolean(stage.querySelector("video"));
  stopVideo();
  resetPlayButton();
  showImage(shown.id);
  if (wasPlaying) return;
  byId("play-status").textContent = "Loading the video …";
  play(shown, videoOf(shown).beside);
});

// ---- copying the JSON

byId("copy").addEventListener("click", async () => {
  const box = byId("json");
  let isCopied = false;
  try {
    await navigator.clipboard.writeText(box.value);
    isCopied = true;
  } catch {
    // In some browsers a page opened from disk has no clipboard API; if the older call fails too, the text stays selected.
    box.focus();
    box.select();
    isCopied = document.execCommand("copy");
  }
  byId("copied").textContent = isCopied ? "Copied." : "The text is selected: press Ctrl+C or ⌘C to copy it.";
});

const timeline = drawTimeline(document.querySelector("#timeline .well"), {
  ...data,
  onFrame: (id) => open(id, () => timeline.focus(id)),
});

// ---- links to a frame: report.html#frame-3

function openLinked() {
  const card = /^#frame-\d+$/.test(location.hash) && byId(location.hash.slice(1));
  if (!card || dialog.open) return;
  open(card.dataset.frame, () => card.querySelector(".open").focus());
}
addEventListener("hashchange", openLinked);
openLinked();
