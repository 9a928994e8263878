// Markdown of a model's reply as elements built from text, never from markup: what it does not know stays as written.
import { el } from "./common.js";

const INLINE =
  /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|(?<!\w)\*(\S(?:.*?\S)?)\*(?!\w)|(?<!\w)_(\S(?:.*?\S)?)_(?!\w)|(?<![\d:.])(?:(\d{1,3}):)?(\d{1,3}):(\d{2})(?:[.,]\d{1,3})?(?![\d:])/;

/** Inline marks and times; onTime(seconds) is called for a time that is clicked. */
function inline(text, onTime) {
  const parts = [];
  let rest = text;
  for (let match = INLINE.exec(rest); match; match = INLINE.exec(rest)) {
    const [whole, , code, bold, bold2, italic, italic2, hours, minutes, seconds] = match;
    parts.push(rest.slice(0, match.index));
    rest = rest.slice(match.index + whole.length);
    if (code !== undefined) parts.push(el("code", {}, code.trim()));
    else if (bold ?? bold2) parts.push(el("strong", {}, inline(bold ?? bold2, onTime)));
    else if (italic ?? italic2) parts.push(el("em", {}, inline(italic ?? italic2, onTime)));
    else parts.push(timeLink(whole, 3600 * Number(hours ?? 0) + 60 * Number(minutes) + Number(seconds), onTime));
  }
  return [...parts, rest];
}

function timeLink(text, time_s, onTime) {
  const onclick = () => onTime(time_s);
  return el("button", { type: "button", className: "time-link", "aria-label": `Play from ${text}`, onclick }, text);
}

function list(lines, isOrdered, onTime) {
  const items = [];
  for (const line of lines) {
    const item = /^\s*(?:[-*+]|\d{1,3}[.)])\s+(.*)$/.exec(line);
    if (item) items.push(item[1]);
    else items[items.length - 1] += ` ${line.trim()}`;
  }
  return el(
    isOrdered ? "ol" : "ul",
    {},
    items.map((item) => el("li", { dir: "auto" }, inline(item, onTime))),
  );
}

/** The elements of a Markdown text: paragraphs, headings, lists, quotes, code, bold, italic, and times as buttons. */
export function markdown(text, onTime) {
  const blocks = [];
  // A fence that is not closed yet, in a reply that is being written, lasts to the end.
  for (const [k, part] of text.split(/^```.*$/m).entries()) {
    if (k % 2) blocks.push(el("pre", {}, el("code", {}, part.replace(/^\n|\n$/g, ""))));
    else blocks.push(...part.split(/\n\s*\n/).flatMap((block) => blockOf(block.replace(/^\n+|\s+$/g, ""), onTime)));
  }
  return blocks;
}

function blockOf(block, onTime) {
  if (!block.trim()) return [];
  const lines = block.split("\n");
  const heading = /^#{1,6}\s+(.*)$/.exec(lines[0]);
  if (heading) {
    const title = el("p", { className: "md-heading", dir: "auto" }, inline(heading[1], onTime));
    return [title, ...blockOf(lines.slice(1).join("\n"), onTime)];
  }
  const start = lines.findIndex((line) => /^\s*(?:[-*+]|\d{1,3}[.)])\s+\S/.test(line));
  if (start === 0) return [list(lines, /^\s*\d/.test(lines[0]), onTime)];
  if (start > 0)
    return [...blockOf(lines.slice(0, start).join("\n"), onTime), ...blockOf(lines.slice(start).join("\n"), onTime)];
  if (lines.every((line) => line.startsWith(">")))
    return [el("blockquote", {}, blockOf(lines.map((line) => line.replace(/^>\s?/, "")).join("\n"), onTime))];
  const parts = lines.flatMap((line, k) => (k ? [el("br"), ...inline(line, onTime)] : inline(line, onTime)));
  return [el("p", { dir: "auto" }, parts)];
}
