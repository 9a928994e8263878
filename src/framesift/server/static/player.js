// The player, and the still image that replaces it where the browser can't play the video.
import { find, request, showMessage } from "./common.js";
import { clock } from "./shared.js";

const HINT = matchMedia("(pointer: coarse)").matches
  ? "Tap the timeline to see a frame."
  : "Point at the timeline to see a frame; click to show it.";

export class Player {
  /** onPosition(time_s or null) gets the playback position, onError(error) why the file could not be fetched. */
  constructor(onPosition, onError) {
    this.element = find("video");
    this.still = find("still");
    this.video = null;
    this.playable = true;
    this.seekTo = null; // position to take when the video has loaded
    this.playOnLoad = false;
    this.onPosition = onPosition;
    this.onError = onError;
    this.element.addEventListener("error", () => this.failed());
    this.element.addEventListener("loadedmetadata", () => this.loaded());
    for (const name of ["timeupdate", "seeking"]) this.element.addEventListener(name, () => this.reportPosition());
  }

  get url() {
    return `/api/videos/${this.video.id}`;
  }

  /** Load a video, or the file that has replaced it. */
  load(video) {
    if (video.problem || this.video?.version === video.version) return;
    this.video = video;
    this.playable = true;
    this.show(true);
    this.element.style.aspectRatio = `${video.width} / ${video.height}`;
    this.element.src = `${this.url}/file?v=${video.version}`;
    this.still.src = `${this.url}/thumbnail.jpg?v=${video.version}`;
  }

  show(playable) {
    this.playable = playable;
    this.element.hidden = !playable;
    this.still.hidden = playable;
    const format = this.video.codec ? ` (${this.video.codec})` : "";
    const message = `This browser can't play the video's format${format}. Click a frame to see it here.`;
    showMessage(find("unplayable"), playable ? "" : message);
    if (!playable) find("hint-text").textContent = HINT;
  }

  loaded() {
    if (!this.element.videoWidth) return this.show(false); // the browser can only decode the audio
    if (this.seekTo !== null) this.element.currentTime = this.seekTo;
    if (this.playOnLoad) this.start();
    this.seekTo = null;
    this.playOnLoad = false;
    return undefined;
  }

  /** If the server still has the file, the browser can't decode it. */
  async failed() {
    const isNetworkError = this.element.error?.code === MediaError.MEDIA_ERR_NETWORK;
    if (this.element.currentTime) [this.seekTo, this.playOnLoad] = [this.element.currentTime, !this.element.paused];
    try {
      await request(this.element.src, { method: "HEAD" });
      if (!isNetworkError) this.show(false);
    } catch (error) {
      this.onError(error);
    }
  }

  /** Load again after the server was unreachable. */
  retry() {
    if (this.playable && this.element.error) this.element.load();
  }

  /** Report the position, null before the video was first played or moved. */
  reportPosition() {
    if (this.playable) this.onPosition(this.element.currentTime || null);
  }

  start() {
    this.element.play().catch(() => {}); // autoplay may be blocked; the controls remain
  }

  /** Move to a time without playing. */
  goTo(time_s) {
    if (this.element.readyState >= 1) this.element.currentTime = time_s;
    else this.seekTo = time_s;
  }

  /** Play from a time, or show its frame where the video can't be played. */
  play(time_s, imageUrl) {
    if (!this.playable) {
      this.still.src = imageUrl;
      this.still.alt = `The video at ${clock(time_s)}`;
      this.onPosition(time_s);
    } else if (this.element.readyState >= 1) {
      this.element.currentTime = time_s;
      this.start();
    } else [this.seekTo, this.playOnLoad] = [time_s, true];
    const box = find("player").getBoundingClientRect();
    if (box.bottom < 80 || box.top > innerHeight - 80) find("player").scrollIntoView({ block: "start" });
  }
}
