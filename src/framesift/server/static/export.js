// The files to take away.
import { el, find, request, say } from "./common.js";

/** Fetch what a button stands for, for what was asked, and hand it to the browser. */
export async function take(button, id, { question, options, budget, methods, text_mode, visual_demand, settings }) {
  if (button.getAttribute("aria-disabled") === "true") return;
  const asked = new URLSearchParams({ format: button.dataset.format, question, budget, text_mode });
  for (const option of options) asked.append("option", option);
  for (const method of methods) asked.append("method", method);
  if (visual_demand !== null) asked.set("visual_demand", visual_demand);
  if (Object.keys(settings).length) asked.set("settings", JSON.stringify(settings));
  const words = button.textContent;
  button.setAttribute("aria-disabled", "true"); // disabled, it would lose the focus
  button.textContent = "…";
  say(find("export-failed"), "");
  try {
    const reply = await request(`/api/videos/${id}/export?${asked}`);
    const name = decodeURIComponent(/filename\*=UTF-8''([^;]+)/.exec(reply.headers.get("content-disposition"))?.[1] ?? "evidence");
    const address = URL.createObjectURL(await reply.blob());
    el("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  } catch (error) {
    say(find("export-failed"), error.message);
  }
  button.removeAttribute("aria-disabled");
  button.textContent = words;
}
