// The tip of a timeline: the text and image of what is under the pointer, beside the timeline or the row, never over it.
const MAX_IMAGE = { width: 220, height: 160 }; // pixels
const MIN_IMAGE_HEIGHT = 56; // less is not worth showing
const REST_MS = 90; // how long the pointer rests before an image is loaded for its time
const GAP = 10; // pixels between the tip and what it explains
const EDGE = 4; // pixels to the edge of the window

function htmlElement(name, className, parent) {
  const element = document.createElement(name);
  element.className = className;
  parent.append(element);
  return element;
}

/** Add the tip to `root`. Space for an image is reserved while it loads, so that nothing moves. */
function makeTip(root) {
  const box = htmlElement("div", "tl-tip", root);
  box.setAttribute("aria-hidden", "true"); // its text is in the labels of the items
  box.hidden = true;
  const image = htmlElement("img", "tl-tip-image", box);
  image.alt = "";
  const title = htmlElement("div", "tl-tip-title", box);
  const text = htmlElement("div", "tl-tip-text", box);
  text.dir = "auto";
  let restTimer = 0;
  let reposition = () => {}; // called again when the size of the tip has changed
  const load = (url) => image.getAttribute("src") !== url && image.setAttribute("src", url);
  image.addEventListener("load", () => reposition());
  image.addEventListener("error", () => {
    image.hidden = true;
    reposition();
  });

  function loadAfterRest({ url, width, height }) {
    const scale = Math.min(1, MAX_IMAGE.width / width, MAX_IMAGE.height / height);
    image.width = Math.round(width * scale);
    image.height = Math.round(height * scale);
    if (image.getAttribute("src") === url) return;
    image.removeAttribute("src");
    restTimer = setTimeout(() => load(url), REST_MS);
  }

  const reset = () => {
    box.style.maxWidth = "";
    image.style.maxHeight = "";
  };

  /** Make the image smaller until the tip fits into `height` pixels; whether it fits. */
  function shrink(height) {
    const excess = box.offsetHeight - height;
    if (excess > 0 && !image.hidden)
      image.style.maxHeight = `${Math.max(MIN_IMAGE_HEIGHT, image.offsetHeight - excess)}px`;
    return box.offsetHeight <= height;
  }

  /** Above or below the timeline, else above or below the row; if neither fits, beside the pointer. */
  function place(x, above, below) {
    reset();
    const { top, bottom } = root.getBoundingClientRect();
    const after = (y) => ({ room: innerHeight - EDGE - GAP - (top + y), y: () => y + GAP });
    const before = (y) => ({ room: top + y - GAP - EDGE, y: () => y - GAP - box.offsetHeight });
    const places = [after(bottom - top), before(0), after(below), before(above)];
    const largest = places.reduce((best, other) => (other.room > best.room ? other : best));
    const chosen = places.find(({ room }) => room >= box.offsetHeight) ?? (shrink(largest.room) ? largest : null);
    const maxLeft = () => root.clientWidth - box.offsetWidth;
    if (chosen) {
      box.style.left = `${Math.max(0, Math.min(maxLeft(), x - box.offsetWidth / 2))}px`;
      box.style.top = `${chosen.y()}px`;
      return;
    }
    const isLeft = x > root.clientWidth / 2;
    box.style.maxWidth = `${(isLeft ? x : root.clientWidth - x) - 2 * GAP}px`;
    shrink(innerHeight - 2 * EDGE);
    box.style.left = `${isLeft ? x - 2 * GAP - box.offsetWidth : x + 2 * GAP}px`;
    const lowest = innerHeight - EDGE - box.offsetHeight - top;
    box.style.top = `${Math.max(EDGE - top, Math.min(lowest, (above + below - box.offsetHeight) / 2))}px`;
  }

  return {
    /** Show the tip of something at `x` that extends from `above` to `below`, in pixels inside `root`. */
    show(tip, x, above, below) {
      clearTimeout(restTimer);
      title.textContent = tip.title;
      text.textContent = tip.text;
      text.hidden = !tip.text;
      image.hidden = !tip.image && !tip.nearby;
      if (tip.image) {
        image.removeAttribute("width");
        image.removeAttribute("height");
        load(tip.image);
      } else if (tip.nearby) loadAfterRest(tip.nearby);
      box.hidden = false;
      reposition = () => place(x, above, below);
      reposition();
    },
    hide() {
      clearTimeout(restTimer);
      box.hidden = true;
    },
  };
}

Object.assign(globalThis.framesift, { htmlElement, makeTip });
