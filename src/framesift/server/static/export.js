// Downloads of the evidence, and its frames as Markdown.
import { el, find, request, showMessage } from "./common.js";
import { momentUrl } from "./moments.js";
import { clock } from "./shared.js";

/** The question and, by method, the frames by time with their reasons, each a link to its moment. */
export function framesMarkdown(video, question, lanes) {
  const rows = ({ frames }) =>
    frames.map(({ time_s, why }) => `- [${clock(time_s)}](${momentUrl(video, time_s)}) ${why[0] ?? ""}`).join("\n");
  const parts = lanes.flatMap((lane) => (lanes.length > 1 ? [`${lane.method}:`, rows(lane)] : [rows(lane)]));
  return [`**${question}**`, ...parts].join("\n\n");
}

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
