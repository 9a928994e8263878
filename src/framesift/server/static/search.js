// Search in all videos of the library: by words, by an image, or by a frame that was found.
import { find } from "./common.js";
import { Moments } from "./moments.js";

/** Keep what is searched for in the address, which can be shared; an image can't be. */
function keep(query) {
  const { text, like, at_s } = query ?? {};
  const kept = text ? { find: text } : like ? { like, at: at_s } : {};
  history.replaceState(null, "", `${location.pathname}?${new URLSearchParams(kept)}`.replace(/\?$/, ""));
  if (!text) find("search-text").value = "";
}
const moments = new Moments({ onShown: keep });
moments.opener = find("search-text");

function search(isSubmitted = false) {
  const text = find("search-text").value.trim();
  moments.search(text ? { text, by: find("search-by").value } : null, isSubmitted);
}

/** Search for an image if the files are one; whether they are. */
export function searchImage(files) {
  const isImage = files.length === 1 && files[0].type.startsWith("image/") && !find("search-box").hidden;
  if (isImage) moments.search({ file: files[0] }, true);
  return isImage;
}

export function setUpSearch() {
  find("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(true);
  });
  find("search-by").addEventListener("change", () => moments.query?.text && search());
  find("search-text").addEventListener("search", () => find("search-text").value || search()); // emptied by its button
  find("search-image").addEventListener("change", ({ target }) => {
    searchImage([...target.files]);
    target.value = ""; // so that the same file can be chosen again
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest?.("input, textarea, select")) return;
    event.preventDefault();
    find("search-text").focus();
  });
  const query = new URLSearchParams(location.search);
  find("search-text").value = query.get("find") ?? "";
  if (find("search-text").value) search();
  else if (query.get("like")) moments.like(query.get("like"), query.get("at") ?? 0);
}
