// Search in all videos of the library: moments with thumbnails, each a link into its video.
import { counted, el, find, get, redraw, showMessage } from "./common.js";
import { clock } from "./shared.js";

let running = null; // AbortController of the running search

function moment({ video, name, time_s, picture, event, stands_out }) {
  const image = el("img", { src: picture, alt: "", loading: "lazy", onerror: (one) => one.target.remove() });
  return el(
    "li",
    { key: `${video} ${time_s}`, className: "video-card" },
    el("div", { className: "thumb" }, image),
    el(
      "div",
      { className: "about" },
      el("h3", { title: name }, el("a", { href: `/video/${video}?t=${time_s.toFixed(1)}` }, el("bdi", {}, name))),
      el("p", { className: "fine" }, clock(time_s) + (stands_out ? "" : " · weak match")),
      event ? el("p", { className: "fine", dir: "auto" }, `\u201c${event.text}\u201d`) : "",
    ),
  );
}

async function search() {
  const text = find("search-text").value.trim();
  running?.abort();
  history.replaceState(null, "", text ? `?find=${encodeURIComponent(text)}` : location.pathname);
  find("search-note").hidden = true;
  if (!text) {
    redraw(find("moments"));
    showMessage(find("search-status"), "");
    return;
  }
  running = new AbortController();
  showMessage(find("search-status"), "Searching …");
  try {
    const query = new URLSearchParams({ text, by: find("search-by").value });
    const moments = await get(`/api/search?${query}`, { signal: running.signal });
    redraw(find("moments"), ...moments.map(moment));
    find("search-note").hidden = !moments.length || moments.some(({ stands_out }) => stands_out);
    const found = moments.length
      ? `${counted(moments.length, "moment")}, best first`
      : "Nothing was found: no indexed video has such text or frames.";
    showMessage(find("search-status"), found);
  } catch (error) {
    if (error.name !== "AbortError") showMessage(find("search-status"), error.message);
  }
}

export function setUpSearch() {
  find("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  find("search-by").addEventListener("change", search);
  find("search-text").addEventListener("search", () => find("search-text").value || search()); // emptied by its button
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest?.("input, textarea, select")) return;
    event.preventDefault();
    find("search-text").focus();
  });
  find("search-text").value = new URLSearchParams(location.search).get("find") ?? "";
  if (find("search-text").value) search();
}
