// The player, and the still picture that takes its place where the browser can't play a video.
import { find, request, say } from "./common.js";
import { clock } from "./shared.js";

const HINT = "Point at the timeline to see a frame, click it to look at it.";

export class Player {
  /** onPlace(time_s or null) hears where the video stands, onGone(error) why it could not be fetched. */
  constructor(onPlace, onGone) {
    this.film = find("film");
    this.still = find("still");
    this.video = null;
    this.playable = true;
    this.seekTo = null; // as soon as the video is there,
    this.goOn = false; // and whether it then plays
    this.onPlace = onPlace;
    this.onGone = onGone;
    this.film.addEventListener("error", () => this.failed());
    this.film.addEventListener("loadedmetadata", () => this.loaded());
    for (const name of ["timeupdate", "seeking"]) this.film.addEventListener(name, () => this.tell());
  }

  get address() {
    return `/api/videos/${this.video.id}`;
  }

  /** Take up a video, or the file that has replaced it. */
  load(video) {
    if (video.problem || this.video?.version === video.version) return;
    this.video = video;
    this.playable = true;
    this.show(true);
    this.film.style.aspectRatio = `${video.width} / ${video.height}`;
    this.film.src = `${this.address}/file?v=${video.version}`;
    this.still.src = `${this.address}/thumbnail.jpg?v=${video.version}`;
  }

  show(playable) {
    this.playable = playable;
    this.film.hidden = !playable;
    this.still.hidden = playable;
    const format = this.video.codec ? ` (${this.video.codec})` : "";
    const sentence = `This browser can't play the video's format${format}. Its frames are shown all the same: click one to see it here.`;
    say(find("unplayable"), playable ? "" : sentence);
    if (!playable) find("hint").textContent = HINT;
  }

  loaded() {
    if (!this.film.videoWidth) return this.show(false); // sound only: the pictures are in a format the browser does not know
    if (this.seekTo !== null) this.film.currentTime = this.seekTo;
    if (this.goOn) this.start();
    this.seekTo = null;
    this.goOn = false;
    return undefined;
  }

  /** Only where the server still has the video is its format to blame. */
  async failed() {
    const lost = this.film.error?.code === MediaError.MEDIA_ERR_NETWORK;
    if (this.film.currentTime) [this.seekTo, this.goOn] = [this.film.currentTime, !this.film.paused];
    try {
      await request(this.film.src, { method: "HEAD" });
      if (!lost) this.show(false);
    } catch (error) {
      this.onGone(error);
    }
  }

  /** Once more, after the server was away. */
  retry() {
    if (this.playable && this.film.error) this.film.load();
  }

  /** Where the video stands, once it has been moved. */
  tell() {
    if (this.playable) this.onPlace(this.film.currentTime || null);
  }

  start() {
    this.film.play().catch(() => {}); // where playing needs a press, the controls are there
  }

  /** From a time on; where that can't be, the picture of it. */
  play(time_s, picture) {
    if (!this.playable) {
      this.still.src = picture;
      this.still.alt = `The video at ${clock(time_s)}`;
      this.onPlace(time_s);
    } else if (this.film.readyState >= 1) {
      this.film.currentTime = time_s;
      this.start();
    } else [this.seekTo, this.goOn] = [time_s, true];
    const box = find("player").getBoundingClientRect();
    if (box.bottom < 80 || box.top > innerHeight - 80) find("player").scrollIntoView({ block: "start" });
  }
}
