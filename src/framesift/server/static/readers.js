// The readers of the server: choosing one, adding an OpenAI-type server with its key, testing and removing it.
import { el, find, linkButton, post, redraw, request, send, showMessage } from "./common.js";

export const WEAKEST = "similarity";

/** Whether a model can answer, and not only the comparison of vectors. */
export const hasModel = () => [...find("reader").options].some(({ value }) => value !== WEAKEST);

/** Fill the list of readers and connect the form that adds one. */
export function setUpReaders(choices) {
  draw(choices.readers, choices.added_readers);
  find("add-reader").addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = entered();
    await run("Adding …", async () => {
      const { readers, added } = await post("/api/readers", body);
      draw(readers, added);
      find("reader").value =
        readers.find((name) => added.includes(name) && body.address.startsWith(name)) ?? readers[0];
      find("reader-key").value = "";
      return "Added. Its key stays on the server.";
    });
  });
  find("test-reader").addEventListener("click", () => {
    if (!find("add-reader").reportValidity()) return;
    run("Testing …", async () => {
      await send("/api/readers/test", entered());
      return "It responds and has a model.";
    });
  });
}

const entered = () => ({ address: find("reader-address").value.trim(), key: find("reader-key").value.trim() });

async function run(label, work) {
  showMessage(find("reader-error"), "");
  showMessage(find("reader-status"), label);
  try {
    showMessage(find("reader-status"), await work());
  } catch (error) {
    showMessage(find("reader-status"), "");
    showMessage(find("reader-error"), error.message);
  }
}

function draw(readers, added) {
  const chosen = find("reader").value;
  const label = (name) => (name === WEAKEST ? "similarity (no model, weak)" : name);
  redraw(find("reader"), ...readers.map((name) => el("option", { value: name }, label(name))));
  if (readers.includes(chosen)) find("reader").value = chosen;
  find("no-reader").hidden = hasModel();
  find("submit").textContent = hasModel() ? "Find the frames and answer" : "Find the frames";
  redraw(
    find("added-readers"),
    ...added.map((name) => {
      const remove = () =>
        run("Removing …", async () => {
          const reply = await request(`/api/readers?address=${encodeURIComponent(name)}`, { method: "DELETE" });
          const now = await reply.json();
          draw(now.readers, now.added);
          return "Removed.";
        });
      const button = linkButton("Remove", `Remove ${name}`, remove);
      return el("li", { key: name, className: "fine" }, el("bdi", {}, name), " ", button);
    }),
  );
}
