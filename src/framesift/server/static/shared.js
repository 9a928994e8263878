// The report's scripts as a module. They share functions through the global object `framesift` instead of importing,
// because the report inlines them and a page opened from disk can't import.
import "./scale.js";
import "./rows.js";
import "./tip.js";
import "./zoom.js";
import "./timeline.js";
import "./markdown.js";

export const {
  ZOOM_KEYS,
  clock,
  drawTimeline,
  lengthText,
  linkTimes,
  markdown,
  markerPath,
  nearest,
  roleName,
  svgElement,
} = globalThis.framesift;
