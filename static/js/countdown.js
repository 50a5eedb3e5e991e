// The last hour before the cut-off, second by second; by the server's clock, whatever this device takes for the time.

const SHOWN_S = 3600;

export class Countdown {
  #endsAt = Infinity;
  #timer = null;
  #show;
  #end;

  /** `show(text)` is told what is left, or null where that is more than an hour; `end()` that it is over. */
  constructor({ show, end }) {
    this.#show = show;
    this.#end = end;
    document.addEventListener("visibilitychange", () => this.#tick());
  }

  set(leftS) {
    this.#endsAt = performance.now() + 1000 * leftS;
    this.#tick();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#endsAt = Infinity;
  }

  #tick() {
    clearTimeout(this.#timer);
    if (this.#endsAt === Infinity) return;
    const leftMs = this.#endsAt - performance.now();
    if (leftMs <= 0) {
      this.stop();
      return this.#end();
    }
    const left = Math.ceil(leftMs / 1000);
    this.#show(left <= SHOWN_S ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : null);
    this.#timer = setTimeout(() => this.#tick(), left <= SHOWN_S ? leftMs % 1000 || 1000 : Math.min(leftMs - 1000 * SHOWN_S, 60_000));
  }
}
