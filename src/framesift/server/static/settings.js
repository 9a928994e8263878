// The question and its settings: their controls, and their copy in the page's address, which survives a reload.
import { el, find, redraw, showMessage } from "./common.js";
import { methodSentence, TEXT_MODES } from "./methods.js";
import { clock } from "./shared.js";

const SLIDER_MAX = 64;
const MAX_BUDGET = 256;
const MAX_OPTIONS = 26;
const DEFAULTS = { budget: 32, method: "sift", textMode: "aligned" };

/** "10:00", "1:02:03.5" or "600" as seconds; null for an empty text, NaN for any other. */
function seconds(text) {
  if (!text.trim()) return null;
  if (!/^(\d+:){0,2}\d+([.,]\d+)?$/.test(text.trim())) return Number.NaN;
  return text
    .trim()
    .replace(",", ".")
    .split(":")
    .reduce((sum, part) => 60 * sum + Number(part), 0);
}

/** Offer questions to try, as buttons that ask them. */
export function drawExamples(examples) {
  find("examples").hidden = !examples.length;
  const ask = (question) => {
    find("question").value = question;
    find("ask").requestSubmit();
  };
  const buttons = examples.map((question) =>
    el("button", { type: "button", className: "plain small", onclick: () => ask(question) }, question),
  );
  redraw(find("examples"), el("span", { className: "fine" }, "Try:"), ...buttons);
}

export class Settings {
  constructor(choices, onChange) {
    this.methods = new Map(choices.methods.map((method) => [method.name, method]));
    this.question = ""; // as submitted; the field may hold a half-typed one
    this.options = [];
    this.methodOptions = {}; // by method, where they differ from the defaults
    this.visualDemand = null;
    this.moment_s = null; // where a link into the video points
    this.window = { from_s: null, to_s: null }; // the part of the video to consider; null for its start and end
    this.edits = { pinned_s: [], removed_s: [] }; // times of frames to keep, and to leave out
    this.onChange = onChange;
    const option = (name, label) => el("option", { value: name }, label);
    const methodOptions = (isAvailable) =>
      choices.methods
        .filter(({ available }) => available === isAvailable)
        .map((method) =>
          el(
            "option",
            { value: method.name, disabled: !isAvailable },
            `${method.name} – ${methodSentence(method)}${isAvailable ? "" : ` (${method.why_not})`}`,
          ),
        );
    for (const id of ["method", "compare"]) {
      const others = methodOptions(false);
      find(id).replaceChildren(
        ...(id === "compare" ? [option("", "none")] : []),
        ...methodOptions(true),
        ...(others.length ? [el("optgroup", { label: "Not on this page" }, others)] : []),
      );
    }
    find("text-mode").replaceChildren(...choices.text_modes.map((mode) => option(mode, TEXT_MODES[mode] ?? mode)));
    this.read();
    find("budget").addEventListener("input", () => {
      find("budget-number").value = find("budget").value;
      this.changed();
    });
    find("budget").addEventListener("change", () => this.changed(true));
    find("budget-number").addEventListener("input", () => {
      if (!find("budget-number").checkValidity()) return;
      this.setBudget(Number(find("budget-number").value));
      this.changed();
    });
    find("budget-number").addEventListener("change", () => {
      const typed = find("budget-number").valueAsNumber;
      const budget = Number.isNaN(typed)
        ? Number(find("budget").value)
        : Math.max(1, Math.min(MAX_BUDGET, Math.round(typed)));
      if (budget === Number(find("budget").value)) find("budget-number").value = budget;
      else {
        this.setBudget(budget);
        this.changed();
      }
    });
    for (const id of ["method", "compare"]) {
      find(id).addEventListener("change", () => {
        this.updateCompare();
        this.drawSettings();
        this.changed();
      });
    }
    find("text-mode").addEventListener("change", () => this.changed());
    for (const id of ["from", "to"])
      find(id).addEventListener("change", () => {
        const typed = seconds(find(id).value);
        if (Number.isNaN(typed)) this.setWindow(this.window);
        else {
          this.setWindow({ ...this.window, [`${id}_s`]: typed });
          this.changed();
        }
      });
    find("add-option").addEventListener("click", () => this.addOption("", true));
    find("undo-edits").addEventListener("click", () => {
      this.setEdits({});
      this.changed(true);
      find("question").focus();
    });
    this.updateCompare();
    this.drawSettings();
  }

  changed(isFinal = false) {
    this.write();
    this.onChange(isFinal);
  }

  /** A method is not compared with itself. */
  updateCompare() {
    const method = find("method").value;
    if (find("compare").value === method) find("compare").value = "";
    for (const one of find("compare").options)
      one.disabled = one.value === method || this.methods.get(one.value)?.available === false;
  }

  /** The slider covers common budgets; typing a larger one extends it. */
  setBudget(budget) {
    find("budget").max = budget > SLIDER_MAX ? MAX_BUDGET : SLIDER_MAX;
    find("budget").value = budget;
    find("budget-number").value = budget;
  }

  /** Show the part of the video to consider; `changed()` then selects from it. */
  setWindow({ from_s, to_s }) {
    this.window = { from_s, to_s };
    find("from").value = from_s === null ? "" : clock(from_s);
    find("to").value = to_s === null ? "" : clock(to_s);
    find("window-note").hidden = from_s === null && to_s === null;
    const end = to_s === null ? "the end" : clock(to_s);
    find("window-note").firstElementChild.textContent = `Only from ${clock(from_s ?? 0)} to ${end}.`;
  }

  setEdits({ pinned_s = [], removed_s = [] }) {
    this.edits = { pinned_s, removed_s };
    const parts = [pinned_s.length && `${pinned_s.length} pinned`, removed_s.length && `${removed_s.length} removed`];
    find("edits-note").hidden = !(pinned_s.length || removed_s.length);
    find("edits-note").firstElementChild.textContent = `Frames: ${parts.filter(Boolean).join(", ")}.`;
  }

  /** Pin the frame at a time, or unpin it, or remove it from what can be selected. */
  edit(time_s, isRemoved) {
    const { pinned_s, removed_s } = this.edits;
    const others = pinned_s.filter((one) => one !== time_s);
    const isPinned = others.length < pinned_s.length || isRemoved;
    this.setEdits({
      pinned_s: isPinned ? others : [...others, time_s],
      removed_s: isRemoved ? [...removed_s, time_s] : removed_s,
    });
    this.changed(true);
  }

  addOption(text, focus = false) {
    const input = el("input", { value: text, maxLength: 1000, dir: "auto", placeholder: "Answer option" });
    const remove = el("button", { type: "button", className: "link" }, "Remove");
    const row = el(
      "div",
      { className: "option" },
      el("span", { className: "letter", "aria-hidden": "true" }),
      input,
      remove,
    );
    remove.addEventListener("click", () => {
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
      row.querySelector("input").setAttribute("aria-label", `Option ${letter}`);
      row.querySelector("button").setAttribute("aria-label", `Remove option ${letter}`);
    });
    find("add-option").disabled = find("options").children.length >= MAX_OPTIONS;
  }

  get selectedMethods() {
    return [...new Set([find("method").value, find("compare").value].filter(Boolean))];
  }

  get usesDemand() {
    return this.selectedMethods.some((name) => this.methods.get(name)?.needs.includes("demand"));
  }

  get typedOptions() {
    return [...find("options").querySelectorAll("input")].map((input) => input.value.trim()).filter(Boolean);
  }

  /** Submit the typed question; false if it is empty. A new question is an entry in the browser's history. */
  submit() {
    const question = find("question").value.trim();
    if (!question) return false;
    const isNew = Boolean(this.question) && question !== this.question;
    this.question = question;
    this.options = this.typedOptions;
    this.write(isNew);
    return true;
  }

  /** The body of an API request. */
  get request() {
    const methods = this.selectedMethods;
    const settings = Object.fromEntries(
      Object.entries(this.methodOptions).filter(([method]) => methods.includes(method)),
    );
    return {
      question: this.question,
      options: this.options,
      budget: Number(find("budget").value),
      methods,
      text_mode: find("text-mode").value,
      visual_demand: this.usesDemand ? this.visualDemand : null,
      ...this.window,
      ...this.edits,
      settings,
      partial: true,
    };
  }

  // ---- address

  read() {
    const query = new URLSearchParams(location.search);
    this.search = location.search;
    // `find`: what was searched for in the library. Without both, what was typed while the page loaded is kept.
    const typed = query.get("q") ?? query.get("find");
    if (typed !== null) find("question").value = typed;
    find("options").replaceChildren();
    for (const option of query.getAll("o").slice(0, MAX_OPTIONS)) this.addOption(option);
    this.question = (query.get("q") ?? "").trim();
    this.options = this.typedOptions;
    find("order").value = query.get("by") === "time" ? "time" : "strength";
    const budget = Number(query.get("n"));
    this.setBudget(Number.isInteger(budget) && budget >= 1 && budget <= MAX_BUDGET ? budget : DEFAULTS.budget);
    const available = (name, fallback) => (this.methods.get(name)?.available ? name : fallback);
    find("method").value = available(query.get("m"), DEFAULTS.method);
    find("compare").value = available(query.get("and"), "");
    // Earlier addresses have the text mode under "t", which now is a moment.
    const mode = query.get("text") ?? query.get("t");
    find("text-mode").value = Object.hasOwn(TEXT_MODES, mode) ? mode : DEFAULTS.textMode;
    const moment_s = seconds(query.get("t") ?? "");
    this.moment_s = Number.isNaN(moment_s) ? null : moment_s;
    const demand = query.get("d");
    this.visualDemand = demand && Number(demand) >= 0 && Number(demand) <= 1 ? Number(demand) : null;
    const [from_s, to_s] = ["from", "to"].map((name) => seconds(query.get(name) ?? ""));
    this.setWindow({ from_s: Number.isNaN(from_s) ? null : from_s, to_s: Number.isNaN(to_s) ? null : to_s });
    const times = (name) =>
      query
        .getAll(name)
        .map(Number.parseFloat)
        .filter((time_s) => time_s >= 0);
    this.setEdits({ pinned_s: times("pin"), removed_s: times("without") });
    this.methodOptions = this.validOptions(query.get("s"));
    this.showChanged();
  }

  /** Beside the folded settings, whether any of them differs from its default. */
  showChanged() {
    const query = new URLSearchParams(this.search);
    find("more-changed").hidden = !["m", "and", "text", "d", "s", "from", "to"].some((name) => query.has(name));
  }

  /** Read the address after Back or Forward; false if the query is the same, as for a link inside the page. */
  reread() {
    if (location.search === this.search) return false;
    find("question").value = "";
    this.read();
    this.updateCompare();
    this.drawSettings();
    return true;
  }

  /** The valid method options in an address. */
  validOptions(text) {
    let parsed = {};
    try {
      parsed = JSON.parse(text ?? "{}") ?? {};
    } catch {
      return {};
    }
    const valid = {};
    for (const [name, own] of Object.entries(parsed)) {
      const options = this.methods.get(name)?.options ?? {};
      const fits = Object.entries(own ?? {}).filter(
        ([key, value]) =>
          Object.hasOwn(options, key) && (options[key] === null || typeof options[key] === typeof value),
      );
      if (fits.length) valid[name] = Object.fromEntries(fits);
    }
    return valid;
  }

  /** The address of the page with a request's question and settings. */
  addressOf({ question, options, budget, methods, text_mode, visual_demand, from_s, to_s, settings, ...edits }) {
    const query = new URLSearchParams();
    if (question) query.set("q", question);
    for (const option of options) query.append("o", option);
    if (budget !== DEFAULTS.budget) query.set("n", budget);
    if (methods[0] !== DEFAULTS.method) query.set("m", methods[0]);
    if (methods[1]) query.set("and", methods[1]);
    if (text_mode !== DEFAULTS.textMode) query.set("text", text_mode);
    if (visual_demand !== null) query.set("d", visual_demand);
    if (from_s !== null) query.set("from", from_s);
    if (to_s !== null) query.set("to", to_s);
    for (const time_s of edits.pinned_s ?? []) query.append("pin", time_s); // kept questions of earlier versions have none
    for (const time_s of edits.removed_s ?? []) query.append("without", time_s);
    if (Object.keys(settings).length) query.set("s", JSON.stringify(settings));
    if (find("order").value === "time") query.set("by", "time");
    return `${location.pathname}${query.size ? `?${query}` : ""}`;
  }

  /** Write the settings to the address, as a new history entry if asked to. */
  write(isStep = false) {
    const url = this.addressOf({ ...this.request, settings: this.methodOptions });
    if (isStep) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
    this.search = location.search;
    this.showChanged();
  }

  /** Take over the question and settings of a kept request. */
  open(request) {
    history.pushState(null, "", this.addressOf(request));
    this.reread();
  }

  // ---- method options

  drawSettings() {
    const wasOpen = new Set([...find("settings").querySelectorAll("details[open]")].map((one) => one.dataset.method));
    const groups = this.selectedMethods.map((name) => {
      const method = this.methods.get(name);
      const rows = Object.entries(method.options).map(([key, initial]) => this.optionField(name, key, initial));
      const about = `${method.summary}${method.paper ? ` (${method.paper})` : ""}`;
      const isChanged = Object.keys(this.methodOptions[name] ?? {}).length > 0;
      return el(
        "details",
        { className: "more", open: isChanged || wasOpen.has(name), "data-method": name },
        el("summary", {}, `Options of ${name}`),
        el("p", { className: "fine" }, about),
        el("div", { className: "fields" }, rows),
      );
    });
    find("settings").replaceChildren(...(this.usesDemand ? [this.visualDemandField()] : []), ...groups);
    for (const id of ["method", "compare"]) {
      const method = this.methods.get(find(id).value);
      showMessage(find(`${id}-about`), method && methodSentence(method));
    }
  }

  optionField(method, key, initial) {
    const value = this.methodOptions[method]?.[key] ?? initial;
    const isNumber = typeof initial === "number";
    const input = el(
      "input",
      typeof initial === "boolean"
        ? { type: "checkbox", checked: value }
        : { type: isNumber ? "number" : "text", step: "any", value: value ?? "" },
    );
    input.addEventListener("change", () => {
      const now = typeof initial === "boolean" ? input.checked : isNumber ? Number(input.value) : input.value;
      const own = { ...this.methodOptions[method], [key]: now };
      if (now === initial || (input.value === "" && typeof initial !== "boolean")) {
        delete own[key];
        if (typeof initial !== "boolean") input.value = initial ?? "";
      }
      this.methodOptions = { ...this.methodOptions, [method]: own };
      if (!Object.keys(own).length) delete this.methodOptions[method];
      this.changed();
    });
    return el("label", {}, el("span", {}, key.replaceAll("_", " ")), input);
  }

  visualDemandField() {
    const input = el("input", {
      type: "number",
      min: 0,
      max: 1,
      step: "any",
      value: this.visualDemand ?? "",
      placeholder: "from the question",
    });
    input.addEventListener("change", () => {
      this.visualDemand = input.value === "" ? null : Math.max(0, Math.min(1, Number(input.value)));
      input.value = this.visualDemand ?? "";
      this.changed();
    });
    return el(
      "div",
      { className: "fields" },
      el("label", {}, el("span", {}, "Asks about what is said (0) or seen (1)"), input),
    );
  }
}
