// Downloads of the evidence.
import { el, find, request, showMessage } from "./common.js";

/** Download the format of a button for the question shown. */
export async function download(button, id, shownRequest) {
  const { question, options, budget, methods, text_mode, settings, kept } = shownRequest;
  if (button.getAttribute("aria-disabled") === "true") return;
  const query = new URLSearchParams({ format: button.dataset.format, question, budget, text_mode, partial: true });
  for (const option of options) query.append("option", option);
  for (const method of methods) query.append("method", method);
  for (const name of ["pinned_s", "removed_s"]) for (const time_s of shownRequest[name]) query.append(name, time_s);
  for (const name of ["visual_demand", "from_s", "to_s"])
    if (shownRequest[name] !== null) query.set(name, shownRequest[name]);
  if (kept) query.set("kept", kept);
  if (Object.keys(settings).length) query.set("settings", JSON.stringify(settings));
  const label = button.textContent;
  button.setAttribute("aria-disabled", "true"); // `disabled` would drop the focus
  button.textContent = "…";
  showMessage(find("export-error"), "");
  try {
    const reply = await request(`/api/videos/${id}/export?${query}`);
    const name = decodeURIComponent(
      /filename\*=UTF-8''([^;]+)/.exec(reply.headers.get("content-disposition"))?.[1] ?? "evidence",
    );
    const url = URL.createObjectURL(await reply.blob());
    el("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  } catch (error) {
    showMessage(find("export-error"), error.message);
  }
  button.removeAttribute("aria-disabled");
  button.textContent = label;
}
