// One event stream of jobs per browser: one tab, the leader, holds it and passes its events to the others. A browser
// opens only six connections to a host, so a stream per tab would block the seventh.
import { get } from "./common.js";

const BEAT_MS = 2000; // the leader is heard from this often
const SILENT_MS = 5000; // after this another tab takes over
const RETRY_MS = 4000;
const IDLE_MS = 5 * 60_000; // without input or open jobs
const HIDDEN_POLL_MS = 10_000; // of a hidden tab while a job is open
const INPUTS = ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"];

class JobStream {
  constructor(handlers) {
    this.handlers = handlers;
    this.id = Math.random(); // of two leaders the smaller one stays
    this.channel = new BroadcastChannel("framesift-jobs");
    this.source = null;
    this.heardAt = Number.NEGATIVE_INFINITY; // from a leader, itself included
    this.usedAt = performance.now();
    this.jobs = null; // the list last received
    this.history = {}; // the versions of the videos' kept questions
    this.lostTimer = 0;
    this.retryTimer = 0;
    this.channel.addEventListener("message", ({ data }) => this.receive(data));
    document.addEventListener("visibilitychange", () => this.check());
    for (const name of INPUTS) addEventListener(name, () => this.onInput(), { passive: true });
    addEventListener("pagehide", () => this.resign());
    addEventListener("pageshow", (event) => event.persisted && this.onReturn());
    setInterval(() => this.check(), BEAT_MS);
    setInterval(() => this.pollHidden(), HIDDEN_POLL_MS);
    this.applyIfSilent();
  }

  get hasOpenJobs() {
    return this.jobs === null || this.jobs.some((job) => job.state === "waiting" || job.state === "running");
  }

  /** Whether this tab needs the jobs: it is shown, and somebody uses it or something is going on. */
  get isActive() {
    return !document.hidden && (this.hasOpenJobs || performance.now() - this.usedAt < IDLE_MS);
  }

  get isSilent() {
    return performance.now() - this.heardAt > SILENT_MS;
  }

  send(kind, jobs, history) {
    this.channel.postMessage({ kind, id: this.id, jobs, history });
  }

  receive({ kind, id, jobs, history }) {
    if (kind === "hello") {
      if (this.source) this.send("jobs", this.jobs, this.history);
    } else if (kind === "leave") {
      this.heardAt = Number.NEGATIVE_INFINITY;
      this.applyIfSilent();
    } else {
      this.heardAt = performance.now();
      if (this.source && id < this.id) this.close();
      if (kind === "lost") this.onLost();
      else this.onAlive();
      if (jobs) this.deliver(jobs);
      if (history) this.deliverHistory(history);
    }
  }

  /** Ask whether there is a leader, and become it if none responds; the tabs' random delays decide which. */
  applyIfSilent() {
    if (!this.isActive || this.source) return;
    this.send("hello");
    setTimeout(() => this.isActive && this.isSilent && this.lead(), 50 + 150 * Math.random());
  }

  check() {
    if (!this.isActive) this.resign();
    else if (this.source) this.send("beat");
    else if (this.isSilent) this.applyIfSilent();
  }

  lead() {
    this.close();
    this.heardAt = performance.now();
    this.source = new EventSource("/api/stream");
    this.source.addEventListener("jobs", (event) => {
      const jobs = JSON.parse(event.data);
      this.send("jobs", jobs);
      this.deliver(jobs);
    });
    this.source.addEventListener("history", (event) => {
      const history = JSON.parse(event.data);
      this.send("history", null, history);
      this.deliverHistory(history);
    });
    this.source.addEventListener("open", () => {
      this.send("beat");
      this.onAlive();
    });
    this.source.addEventListener("error", () => {
      // The browser reconnects a stream that broke off, but not one that was refused.
      if (this.source?.readyState === EventSource.CLOSED) this.retryTimer = setTimeout(() => this.lead(), RETRY_MS);
      this.lostTimer ||= setTimeout(() => {
        this.send("lost");
        this.handlers.onLost();
      }, RETRY_MS);
    });
  }

  close() {
    clearTimeout(this.retryTimer);
    this.source?.close();
    this.source = null;
  }

  resign() {
    if (!this.source) return;
    this.close();
    this.send("leave");
  }

  deliver(jobs) {
    this.jobs = jobs;
    this.handlers.onJobs(jobs);
  }

  deliverHistory(history) {
    this.history = history;
    this.handlers.onHistory?.(history);
  }

  onLost() {
    this.lostTimer ||= setTimeout(() => {}, 0);
    this.handlers.onLost();
  }

  /** The server responds; after a loss, the page repeats what failed. */
  onAlive() {
    const wasLost = Boolean(this.lostTimer);
    clearTimeout(this.lostTimer);
    this.lostTimer = 0;
    if (wasLost) this.handlers.onBack();
  }

  onInput() {
    const wasActive = this.isActive;
    this.usedAt = performance.now();
    if (!wasActive) this.check();
  }

  /** The browser restored the page from its cache. */
  onReturn() {
    this.check();
    this.handlers.onBack();
  }

  /** A hidden tab has no stream of its own; its title still shows the progress. */
  async pollHidden() {
    if (!document.hidden || !this.hasOpenJobs || !this.isSilent) return;
    try {
      this.deliver(await get("/api/jobs"));
    } catch {
      // the stream reports a lost server when the tab is shown again
    }
  }
}

/**
 * Subscribe to the jobs. onLost is called when the server has not responded for a while, onBack when it does again and
 * when the browser restores the page from its cache, onHistory with a version by video when kept questions change.
 */
export function watchJobs(onJobs, onLost, onBack, onHistory) {
  return new JobStream({ onJobs, onLost, onBack, onHistory });
}
