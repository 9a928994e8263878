// Keys of a video's page: the player's usual ones, those that zoom the timeline, and "/" for the question.
import { find } from "./common.js";
import { ZOOM_KEYS } from "./shared.js";

const STEPS_S = { j: -10, l: 10, ArrowLeft: -5, ArrowRight: 5 };
const OWN_KEYS = "input, textarea, select, video";
const PRESSED_BY_SPACE = "button, summary";

/** Space and K play or pause, J and L go ten seconds back and on, the arrow keys five; onZoom("in", "out" or "whole"). */
export function setUpKeys(onZoom) {
  let clicked = null; // the control that has the focus from a click: space is not for it
  document.addEventListener("focusin", () => {
    clicked = null;
  });
  document.addEventListener("click", (event) => {
    if (event.detail) clicked = event.target.closest(PRESSED_BY_SPACE);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest?.(OWN_KEYS) || document.querySelector("dialog[open]")) return;
    if (event.key === " " && event.target !== clicked && event.target.matches?.(PRESSED_BY_SPACE)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const player = find("video");
    if (key === "/") {
      find("question").focus();
      find("question").select();
    } else if (key in ZOOM_KEYS) onZoom(ZOOM_KEYS[key]);
    else if (player.hidden || player.readyState < 1) return;
    else if (key === " " || key === "k") {
      if (player.paused) player.play().catch(() => {});
      else player.pause();
    } else if (key in STEPS_S)
      player.currentTime = Math.max(0, Math.min(player.duration, player.currentTime + STEPS_S[key]));
    else return;
    event.preventDefault();
  });
}
