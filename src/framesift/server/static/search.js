// Search in all videos of the library: moments with thumbnails, each a link into its video with the words searched for.
import { counted, el, find, get, redraw } from "./common.js";
import { clock } from "./shared.js";

let running = null; // AbortController of the running search

function moment({ video, name, time_s, image: url, event, stands_out }, words) {
  const image = el("img", { src: url, alt: "", loading: "lazy", onerror: (one) => one.target.remove() });
  const address = `/video/${video}?${new URLSearchParams({ t: time_s.toFixed(1), find: words })}`;
  return el(
    "li",
    { key: `${video} ${time_s}`, className: "video-card" },
    el("div", { className: "thumb" }, image),
    el(
      "div",
      { className: "about" },
      el("h3", { title: name }, el("a", { href: address }, el("bdi", {}, name))),
      el("p", { className: "fine" }, clock(time_s) + (stands_out ? "" : " · weak match")),
      event ? el("p", { className: "fine quote", dir: "auto" }, `\u201c${event.text}\u201d`) : "",
    ),
  );
}

/** Show all moments, or as many as page.css leaves, so that the videos below stay in view. */
function showAll(all) {
  const moments = [...find("moments").children];
  find("moments").classList.toggle("few", !all);
  find("all-moments").hidden = !all && moments.every((one) => one.checkVisibility());
  find("all-moments").textContent = all ? "Show fewer" : `Show all ${moments.length}`;
  find("all-moments").setAttribute("aria-expanded", all);
}

/** isSubmitted: by the form, whose results are scrolled into view. */
async function search(isSubmitted = false) {
  const text = find("search-text").value.trim();
  running?.abort();
  history.replaceState(null, "", text ? `?find=${encodeURIComponent(text)}` : location.pathname);
  find("search-note").hidden = true;
  find("found").hidden = !text;
  if (!text) {
    redraw(find("moments"));
    return;
  }
  running = new AbortController();
  const status = find("search-status");
  status.textContent = "Searching …";
  try {
    const query = new URLSearchParams({ text, by: find("search-by").value });
    const moments = await get(`/api/search?${query}`, { signal: running.signal });
    redraw(find("moments"), ...moments.map((one) => moment(one, text)));
    showAll(false);
    find("search-note").hidden = !moments.length || moments.some(({ stands_out }) => stands_out);
    status.textContent = moments.length
      ? `${counted(moments.length, "moment")}, best first`
      : "Nothing was found: no indexed video has such text or frames.";
    if (isSubmitted) find("found").scrollIntoView({ block: "nearest" });
  } catch (error) {
    if (error.name !== "AbortError") status.textContent = error.message;
  }
}

export function setUpSearch() {
  find("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(true);
  });
  find("search-by").addEventListener("change", () => search());
  find("search-text").addEventListener("search", () => find("search-text").value || search()); // emptied by its button
  find("all-moments").addEventListener("click", () => showAll(find("moments").classList.contains("few")));
  find("close-search").addEventListener("click", () => {
    find("search-text").value = "";
    search();
    find("search-text").focus({ preventScroll: true });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest?.("input, textarea, select")) return;
    event.preventDefault();
    find("search-text").focus();
  });
  find("search-text").value = new URLSearchParams(location.search).get("find") ?? "";
  if (find("search-text").value) search();
}
