// Time on task per thing: while the page can be seen and its reader gave a sign of life lately.

const IDLE_AFTER_MS = 30_000;
const TICK_MS = 1000;
const SIGNS = ["pointermove", "pointerdown", "keydown", "wheel", "touchmove", "scroll", "input"];

export class ActiveTime {
  #spent = new Map();
  #thing = null;
  #sign = performance.now();
  #tick = performance.now();

  constructor() {
    const alive = () => (this.#sign = performance.now());
    for (const sign of SIGNS) addEventListener(sign, alive, { passive: true, capture: true });
    setInterval(() => this.#count(), TICK_MS);
  }

  /** From now on, time goes to `thing`. */
  look(thing) {
    this.#count();
    this.#thing = thing;
  }

  /** Milliseconds spent on `thing` since last taken. */
  take(thing) {
    this.#count();
    const spent = this.#spent.get(thing) ?? 0;
    this.#spent.delete(thing);
    return Math.round(spent);
  }

  putBack(thing, ms) {
    this.#spent.set(thing, (this.#spent.get(thing) ?? 0) + ms);
  }

  #count() {
    const now = performance.now();
    // A longer gap than two ticks is a machine that slept.
    const passed = Math.min(now - this.#tick, 2 * TICK_MS);
    this.#tick = now;
    const isActive = document.visibilityState === "visible" && now - this.#sign < IDLE_AFTER_MS;
    if (isActive && this.#thing !== null) this.putBack(this.#thing, passed);
  }
}
