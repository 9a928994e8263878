// The overlay that lists the keys of a page; "?" opens it.
import { el, find, linkButton } from "./common.js";

const KEYS = {
  library: [["/", "to the search"]],
  video: [
    ["/", "to the question"],
    ["Enter", "find the frames; Shift and Enter: a new line"],
    ["Space or K", "play or pause"],
    ["J and L", "ten seconds back or on"],
    ["← and →", "five seconds back or on; on the timeline, the next frame or text"],
    ["+, − and 0", "zoom the timeline in, out, or to the whole video"],
  ],
};

/** Open the overlay by its key, and by a button in the page's navigation. */
export function setUpHelp(page) {
  const rows = [...KEYS[page], ["?", "this list"], ["Esc", "close it"]].flatMap(([key, does]) => [
    el("dt", {}, el("kbd", {}, key)),
    el("dd", {}, does),
  ]);
  const dialog = el(
    "dialog",
    { className: "help", "aria-labelledby": "help-title" },
    el(
      "div",
      { className: "bar" },
      el("h2", { id: "help-title" }, "Keys"),
      linkButton("Close", "Close the list", () => dialog.close()),
    ),
    el("dl", { className: "facts" }, rows),
  );
  document.body.append(dialog);
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close()); // beside it
  find("help-button").addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.target.closest?.("input, textarea, select")) return;
    event.preventDefault();
    if (!dialog.open) dialog.showModal();
  });
}
