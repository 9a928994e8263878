// The questions asked about a video before: reopened, renamed and deleted.
import { keptQuestions } from "./answer.js";
import { counted, el, find, linkButton, post, redraw, request, showMessage } from "./common.js";

export class QuestionHistory {
  /** onOpen(request) asks a kept question again, with its settings. */
  constructor(video, onOpen) {
    this.video = video;
    this.onOpen = onOpen;
    this.kept = [];
  }

  async load() {
    try {
      const { kept } = this;
      const loaded = await keptQuestions(this.video);
      if (this.kept !== kept) return this.load(); // one was kept or deleted meanwhile, which the reply may not know
      this.kept = loaded;
      this.draw();
    } catch (error) {
      showMessage(find("history-error"), error.message);
    }
    return undefined;
  }

  /** Put a question that was just asked at the top. */
  add(question) {
    this.kept = [question, ...this.kept.filter((one) => one.id !== question.id)];
    this.draw();
  }

  draw() {
    find("history").hidden = !this.kept.length;
    find("history-count").textContent = this.kept.length.toLocaleString("en");
    redraw(find("history-list"), ...this.kept.map((question) => this.row(question)));
  }

  row(question) {
    const name = question.title || question.request.question;
    const answers = question.answers.length ? ` · ${counted(question.answers.length, "answer")}` : "";
    const date = new Date(question.asked_s * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    return el(
      "li",
      { key: question.id, "data-kept": question.id },
      el(
        "button",
        { type: "button", className: "link open-question", dir: "auto", onclick: () => this.onOpen(question.request) },
        name,
      ),
      el(
        "p",
        { className: "fine" },
        `${date}${answers} `,
        linkButton("Rename", `Rename: ${name}`, () => this.rename(question)),
        " ",
        linkButton("Delete", `Delete: ${name}`, () => this.remove(question)),
      ),
    );
  }

  async act(work) {
    try {
      await work();
      showMessage(find("history-error"), "");
      this.draw();
    } catch (error) {
      showMessage(find("history-error"), error.message);
    }
  }

  rename(question) {
    const title = prompt("Name of this question", question.title || question.request.question);
    if (title === null) return;
    this.act(async () => {
      const renamed = await post(`/api/videos/${this.video}/history/${question.id}`, { title }, { method: "PATCH" });
      question.title = renamed.title;
    });
  }

  remove(question) {
    const answers = question.answers.length ? ` and ${counted(question.answers.length, "answer")}` : "";
    if (!confirm(`Delete this question${answers}?`)) return;
    this.act(async () => {
      await request(`/api/videos/${this.video}/history/${question.id}`, { method: "DELETE" });
      this.kept = this.kept.filter((one) => one.id !== question.id);
    });
  }
}
