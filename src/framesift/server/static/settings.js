// The knobs: what can be turned, what it stands at, and the same in the page's address, so that a reload keeps it.
import { el, find } from "./common.js";

const TEXT_MODES = {
  aligned: "on their own frame",
  none: "not at all",
  prompt: "as one block in the prompt",
  tagged: "by frame in the prompt",
  blank: "as an empty band (control)",
  shuffled: "on a wrong frame (control)",
};
const MOST_USUAL = 64;
const MOST_BUDGET = 256;
const MOST_OPTIONS = 26;
const USUAL = { budget: 32, method: "gcr", textMode: "aligned" };

export class Knobs {
  constructor(choices, onChange) {
    this.methods = new Map(choices.methods.map((method) => [method.name, method]));
    this.question = ""; // as it was asked; what stands in the field may be half typed
    this.options = [];
    this.given = {}; // options of methods that differ from their defaults
    this.demand = null;
    this.onChange = onChange;
    const option = (name, words, off = "") => el("option", { value: name, disabled: Boolean(off), title: off }, words);
    const ways = choices.methods.map((method) => option(method.name, method.name, method.why_not));
    find("method").replaceChildren(...ways);
    find("beside").replaceChildren(option("", "nothing"), ...ways.map((way) => way.cloneNode(true)));
    find("text-mode").replaceChildren(...choices.text_modes.map((mode) => option(mode, TEXT_MODES[mode] ?? mode)));
    find("reader").replaceChildren(...choices.readers.map((reader) => option(reader, reader === "similarity" ? "similarity (weak, no model)" : reader)));
    this.read();
    find("budget").addEventListener("input", () => {
      find("budget-number").value = find("budget").value;
      this.changed();
    });
    find("budget-number").addEventListener("input", () => {
      if (!find("budget-number").checkValidity()) return;
      this.setBudget(Number(find("budget-number").value));
      this.changed();
    });
    find("budget-number").addEventListener("change", () => {
      const typed = find("budget-number").valueAsNumber;
      const budget = Number.isNaN(typed) ? Number(find("budget").value) : Math.max(1, Math.min(MOST_BUDGET, Math.round(typed)));
      if (budget === Number(find("budget").value)) find("budget-number").value = budget;
      else {
        this.setBudget(budget);
        this.changed();
      }
    });
    for (const id of ["method", "beside"]) {
      find(id).addEventListener("change", () => {
        this.drawBeside();
        this.drawSettings();
        this.changed();
      });
    }
    find("text-mode").addEventListener("change", () => this.changed());
    find("add-option").addEventListener("click", () => this.addOption("", true));
    this.drawBeside();
    this.drawSettings();
  }

  changed() {
    this.write();
    this.onChange();
  }

  /** A method beside itself would be the same frames twice. */
  drawBeside() {
    const method = find("method").value;
    if (find("beside").value === method) find("beside").value = "";
    for (const one of find("beside").options) one.disabled = one.value === method || Boolean(this.methods.get(one.value)?.why_not);
  }

  /** The slider reaches as far as is usual; it stretches for who types more. */
  setBudget(budget) {
    find("budget").max = budget > MOST_USUAL ? MOST_BUDGET : MOST_USUAL;
    find("budget").value = budget;
    find("budget-number").value = budget;
  }

  addOption(text, focus = false) {
    const input = el("input", { value: text, maxLength: 1000, dir: "auto", placeholder: "An answer to choose from" });
    const gone = el("button", { type: "button", className: "link" }, "Remove");
    const row = el("div", { className: "option" }, el("span", { className: "letter", "aria-hidden": "true" }), input, gone);
    gone.addEventListener("click", () => {
      const next = row.nextElementSibling ?? row.previousElementSibling;
      row.remove();
      this.letterOptions();
      (next?.querySelector("input") ?? find("add-option")).focus();
      if (!this.options.includes(input.value.trim())) return;
      this.options = this.typedOptions;
      this.changed();
    });
    find("options").append(row);
    this.letterOptions();
    if (focus) input.focus();
  }

  letterOptions() {
    [...find("options").children].forEach((row, k) => {
      const letter = String.fromCharCode(65 + k);
      row.querySelector(".letter").textContent = letter;
      row.querySelector("input").setAttribute("aria-label", `Answer ${letter}`);
      row.querySelector("button").setAttribute("aria-label", `Remove answer ${letter}`);
    });
    find("add-option").disabled = find("options").children.length >= MOST_OPTIONS;
  }

  get shownMethods() {
    return [...new Set([find("method").value, find("beside").value].filter(Boolean))];
  }

  get typedOptions() {
    return [...find("options").querySelectorAll("input")].map((input) => input.value.trim()).filter(Boolean);
  }

  /** Take what stands in the fields as the question; false where there is none. Another question is a step for Back. */
  submit() {
    const question = find("question").value.trim();
    if (!question) return false;
    const other = Boolean(this.question) && question !== this.question;
    this.question = question;
    this.options = this.typedOptions;
    this.write(other);
    return true;
  }

  /** What is asked, as the API takes it. */
  get asked() {
    const methods = this.shownMethods;
    const settings = Object.fromEntries(Object.entries(this.given).filter(([method]) => methods.includes(method)));
    return {
      question: this.question,
      options: this.options,
      budget: Number(find("budget").value),
      methods,
      text_mode: find("text-mode").value,
      visual_demand: this.demand,
      settings,
    };
  }

  // ---- the address

  read() {
    const held = new URLSearchParams(location.search);
    this.search = location.search;
    if (held.has("q")) find("question").value = held.get("q"); // else what was typed while the page loaded stays
    find("options").replaceChildren();
    for (const option of held.getAll("o").slice(0, MOST_OPTIONS)) this.addOption(option);
    this.question = (held.get("q") ?? "").trim();
    this.options = this.typedOptions;
    find("order").value = held.get("by") === "time" ? "time" : "rank";
    const budget = Number(held.get("n"));
    this.setBudget(Number.isInteger(budget) && budget >= 1 && budget <= MOST_BUDGET ? budget : USUAL.budget);
    const known = (name, usual) => (this.methods.get(name)?.available ? name : usual);
    find("method").value = known(held.get("m"), USUAL.method);
    find("beside").value = known(held.get("and"), "");
    find("text-mode").value = Object.hasOwn(TEXT_MODES, held.get("t")) ? held.get("t") : USUAL.textMode;
    const demand = held.get("d");
    this.demand = demand && Number(demand) >= 0 && Number(demand) <= 1 ? Number(demand) : null;
    this.given = this.known(held.get("s"));
  }

  /** Go to what the address says after Back or Forward; false where it says nothing new, as for a link inside the page. */
  reread() {
    if (location.search === this.search) return false;
    find("question").value = "";
    this.read();
    this.drawBeside();
    this.drawSettings();
    return true;
  }

  /** The options in an address that there are, of methods that there are. */
  known(text) {
    let told = {};
    try {
      told = JSON.parse(text ?? "{}") ?? {};
    } catch {
      return {};
    }
    const kept = {};
    for (const [name, own] of Object.entries(told)) {
      const options = this.methods.get(name)?.options ?? {};
      const fits = Object.entries(own ?? {}).filter(([key, value]) => Object.hasOwn(options, key) && (options[key] === null || typeof options[key] === typeof value));
      if (fits.length) kept[name] = Object.fromEntries(fits);
    }
    return kept;
  }

  /** Put what is asked into the address; another question is a step that Back undoes. */
  write(step = false) {
    const { question, options, budget, visual_demand } = this.asked;
    const held = new URLSearchParams();
    if (question) held.set("q", question);
    for (const option of options) held.append("o", option);
    if (budget !== USUAL.budget) held.set("n", budget);
    if (find("method").value !== USUAL.method) held.set("m", find("method").value);
    if (find("beside").value) held.set("and", find("beside").value);
    if (find("text-mode").value !== USUAL.textMode) held.set("t", find("text-mode").value);
    if (visual_demand !== null) held.set("d", visual_demand);
    if (Object.keys(this.given).length) held.set("s", JSON.stringify(this.given));
    if (find("order").value === "time") held.set("by", "time");
    const address = `${location.pathname}${held.size ? `?${held}` : ""}`;
    if (step) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.search = location.search;
  }

  // ---- the methods' own options

  drawSettings() {
    const groups = this.shownMethods.map((name) => {
      const method = this.methods.get(name);
      const rows = Object.entries(method.options).map(([key, usual]) => this.setting(name, key, usual));
      const about = `${method.summary}${method.paper ? ` (${method.paper})` : ""}`;
      return el("div", { className: "group" }, el("h3", {}, name), el("p", { className: "fine" }, about), el("div", { className: "fields" }, rows));
    });
    find("settings").replaceChildren(this.demandField(), ...groups);
  }

  setting(method, key, usual) {
    const value = this.given[method]?.[key] ?? usual;
    const isNumber = typeof usual === "number";
    const input = el("input", typeof usual === "boolean" ? { type: "checkbox", checked: value } : { type: isNumber ? "number" : "text", step: "any", value: value ?? "" });
    input.addEventListener("change", () => {
      const now = typeof usual === "boolean" ? input.checked : isNumber ? Number(input.value) : input.value;
      const own = { ...this.given[method], [key]: now };
      if (now === usual || (input.value === "" && typeof usual !== "boolean")) {
        delete own[key];
        if (typeof usual !== "boolean") input.value = usual ?? "";
      }
      this.given = { ...this.given, [method]: own };
      if (!Object.keys(own).length) delete this.given[method];
      this.changed();
    });
    return el("label", {}, el("span", {}, key.replaceAll("_", " ")), input);
  }

  demandField() {
    const input = el("input", { type: "number", min: 0, max: 1, step: "any", value: this.demand ?? "", placeholder: "by the question" });
    input.addEventListener("change", () => {
      this.demand = input.value === "" ? null : Math.max(0, Math.min(1, Number(input.value)));
      input.value = this.demand ?? "";
      this.changed();
    });
    return el("div", { className: "fields" }, el("label", {}, el("span", {}, "words (0) or pictures (1)"), input));
  }
}
