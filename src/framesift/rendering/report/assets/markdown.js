// Markdown of a model's reply as elements built from text, never from markup: what it does not know stays as written.
// Marks enclose at most 400 characters of a line, so that the time for unclosed ones grows with the text's length only.
const TIME = /(?<![\d:.])(?:(\d{1,3}):)?(\d{1,3}):(\d{2})(?:[.,]\d{1,3})?(?![\d:])/;
const MARKS =
  /(`+)(.{1,400}?)\1|\*\*(.{1,400}?)\*\*|__(.{1,400}?)__|(?<!\w)\*(\S(?:.{0,400}?\S)?)\*(?!\w)|(?<!\w)_(\S(?:.{0,400}?\S)?)_(?!\w)/;
const INLINE = new RegExp(`${MARKS.source}|${TIME.source}`);

function inline(text, make) {
  const { el, onTime } = make;
  const parts = [];
  let rest = text;
  for (let match = INLINE.exec(rest); match; match = INLINE.exec(rest)) {
    const [whole, , code, bold, bold2, italic, italic2, hours, minutes, seconds] = match;
    parts.push(rest.slice(0, match.index));
    rest = rest.slice(match.index + whole.length);
    if (code !== undefined) parts.push(el("code", {}, code.trim()));
    else if (bold ?? bold2) parts.push(el("strong", {}, inline(bold ?? bold2, make)));
    else if (italic ?? italic2) parts.push(el("em", {}, inline(italic ?? italic2, make)));
    else if (!onTime) parts.push(whole);
    else parts.push(timeLink(whole, secondsOf(hours, minutes, seconds), make));
  }
  return [...parts, rest];
}

/** The text with its times as links: urlOf(time_s) is where one leads. */
function linkTimes(text, urlOf) {
  const link = (whole, hours, minutes, seconds) => `[${whole}](${urlOf(secondsOf(hours, minutes, seconds))})`;
  return text.replace(new RegExp(TIME, "g"), link);
}

const secondsOf = (hours, minutes, seconds) => 3600 * Number(hours ?? 0) + 60 * Number(minutes) + Number(seconds);

function timeLink(text, time_s, { el, onTime }) {
  const onclick = () => onTime(time_s);
  return el("button", { type: "button", className: "time-link", "aria-label": `Play from ${text}`, onclick }, text);
}

function list(lines, isOrdered, make) {
  const { el } = make;
  const items = [];
  for (const line of lines) {
    const item = /^\s*(?:[-*+]|\d{1,3}[.)])\s+(.*)$/.exec(line);
    if (item) items.push(item[1]);
    else items[items.length - 1] += ` ${line.trim()}`;
  }
  return el(
    isOrdered ? "ol" : "ul",
    {},
    items.map((item) => el("li", { dir: "auto" }, inline(item, make))),
  );
}

/**
 * The elements of a Markdown text: paragraphs, headings, lists, quotes, code, bold, italic. el(name, properties,
 * ...children) creates one; with onTime(time_s), times are buttons that call it.
 */
function markdown(text, el, onTime = null) {
  const blocks = [];
  // A fence that is not closed yet, in a reply that is being written, lasts to the end.
  for (const [k, part] of text.split(/^```.*$/m).entries()) {
    if (k % 2) blocks.push(el("pre", {}, el("code", {}, part.replace(/^\n|\n$/g, ""))));
    else
      for (const block of part.replace(/^#{1,6}\s.*$/gm, "\n$&\n").split(/\n\s*\n/))
        blocks.push(...blockOf(block.replace(/^\n+|\s+$/g, ""), { el, onTime }));
  }
  return blocks;
}

function blockOf(block, make) {
  const { el } = make;
  if (!block.trim()) return [];
  const heading = /^#{1,6}\s+(.*)$/.exec(block);
  if (heading) return [el("p", { className: "md-heading", dir: "auto" }, inline(heading[1], make))];
  const lines = block.split("\n");
  const start = lines.findIndex((line) => /^\s*(?:[-*+]|\d{1,3}[.)])\s+\S/.test(line));
  if (start === 0) return [list(lines, /^\s*\d/.test(lines[0]), make)];
  if (start > 0)
    return [...blockOf(lines.slice(0, start).join("\n"), make), ...blockOf(lines.slice(start).join("\n"), make)];
  if (lines.every((line) => line.startsWith(">")))
    return [el("blockquote", {}, blockOf(lines.map((line) => line.replace(/^[>\s]+/, "")).join("\n"), make))];
  const parts = lines.flatMap((line, k) => (k ? [el("br"), ...inline(line, make)] : inline(line, make)));
  return [el("p", { dir: "auto" }, parts)];
}

Object.assign(globalThis.framesift, { linkTimes, markdown });
