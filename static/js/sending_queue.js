// What is sent one after the other, in the order in which it was chosen: each until it got through, and none twice.

import { waitBeforeAttempt } from "./page.js";

/** `deliver(thing)` resolves to true once the thing is done with, to false where it must be tried again. */
export class SendingQueue {
  #deliver;
  #things = [];
  #current = null;
  #flight = null;
  #attempt = 0;
  #timer = null;

  constructor(deliver) {
    this.#deliver = deliver;
    for (const sign of ["online", "focus"]) addEventListener(sign, () => this.run());
  }

  get waiting() {
    return this.#current ? [this.#current, ...this.#things] : this.#things;
  }

  add(thing) {
    this.#things = [...this.#things.filter((one) => one !== thing), thing];
    this.mark();
    this.run();
  }

  clear() {
    this.#things = [];
    this.mark();
  }

  /** Say by `data-sending` whether anything waits, or is about to. */
  mark(isSending = this.waiting.length > 0) {
    document.documentElement.toggleAttribute("data-sending", isSending);
  }

  /** Resolves once nothing waits any more, or the first that waits did not get through. */
  run() {
    clearTimeout(this.#timer);
    this.#flight ??= this.#send().finally(() => {
      this.#flight = null;
      this.mark();
    });
    return this.#flight;
  }

  async #send() {
    while ((this.#current = this.#things.shift() ?? null)) {
      if (await this.#deliver(this.#current)) {
        this.#attempt = 0;
        continue;
      }
      if (!this.#things.includes(this.#current)) this.#things.unshift(this.#current);
      this.#current = null;
      this.#timer = setTimeout(() => this.run(), waitBeforeAttempt(this.#attempt++));
      return;
    }
  }
}
