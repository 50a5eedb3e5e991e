// Answers on a page that stays: sent behind the person, in order and once, and what is said while they wait.

import { announce, outcomeOf, signInLink, turnDeaf } from "./page.js";
import { SendingQueue } from "./sending_queue.js";

// How long a choice is seen before something else takes its place.
export const LET_IT_BE_SEEN_MS = 120;
// That an answer was late is said at least so long, however soon the next one is given.
const READ_MS = 5000;

export class AnswerQueue extends SendingQueue {
  isLeft = false;
  // Whether another tab was at work on what is shown here: more of it may have changed.
  isOutdated = false;
  #root;
  #place;
  #page;
  #said = { name: "", text: "", at: 0 };

  /**
   * `root` has the texts; they are said at `place`. `page` has `send(answer)`, `saved(answer, data)`, `refused(answer, why)`
   * and `wipe()`, which takes the captions off the page.
   */
  constructor(root, place, page) {
    super((answer) => this.#deliver(answer));
    this.#root = root;
    this.#place = place;
    this.#page = page;
    addEventListener("offline", () => this.isHeld || this.say("offline"));
    addEventListener("online", () => this.waiting.length || this.say(""));
    // One that is on its way outlives the page.
    addEventListener("beforeunload", (event) => this.waiting.length > (this.isHeld ? 0 : 1) && event.preventDefault());
    addEventListener("pagehide", page.wipe);
    addEventListener("pageshow", (event) => event.persisted && location.reload());
  }

  /** Whether answers wait for a connection, or for their giver to sign in. */
  get isHeld() {
    return ["offline", "signed-out"].includes(this.#said.name);
  }

  add(answer) {
    super.add(answer);
    if (this.isHeld) this.show();
    else if (this.#said.name !== "late" || performance.now() - this.#said.at > READ_MS) this.say("");
  }

  /** Say what `name` stands for, or `text`; nothing for "". */
  say(name, text = this.#textOf(name)) {
    const isNew = name !== this.#said.name || text !== this.#said.text;
    this.#said = { name, text, at: performance.now() };
    const said = this.show();
    if (name && isNew) announce(said);
  }

  /** Show what is said, from now on at `place`. */
  show(place = this.#place) {
    this.#place = place;
    const { name, text } = this.#said;
    const said = text.replace("{number}", this.waiting.length);
    // Said again, it is left as it is: its link may have the focus.
    if (place.dataset.state === name && place.firstChild?.textContent === said) return said;
    if (name) place.dataset.state = name;
    else delete place.dataset.state;
    place.replaceChildren(said);
    if (name === "signed-out") place.append(" ", signInLink(this.#root, { newTab: true }));
    return said;
  }

  /** Leave for good: the captions go first, and the page does not stay in the history. */
  leave(where) {
    // Several answers may lead away at once; a second call would break off the first.
    if (this.isLeft) return;
    this.isLeft = true;
    turnDeaf(Infinity);
    this.clear();
    this.#page.wipe();
    location.replace(where);
  }

  #textOf(name) {
    const { textOffline, textSignedOut } = this.#root.dataset;
    return { offline: textOffline, "signed-out": textSignedOut }[name] ?? "";
  }

  async #deliver(answer) {
    const came = await this.#page.send(answer).catch(() => ({ status: 0 }));
    const { data = {} } = came;
    const outcome = came.moved ? "closed" : outcomeOf(came);
    if (outcome === "offline" || outcome === "signed-out") {
      this.say(outcome, outcome === "offline" ? data.message : undefined);
      return false;
    }
    if (this.isHeld) this.say("");
    if (outcome === "saved") {
      if (data.message) this.say("late", data.message);
      this.#page.saved(answer, data);
    } else if (outcome === "closed" || outcome === "gone") {
      // The server has another answer to this one, or the image is gone; those after it may be taken.
      this.isOutdated = true;
      if (!["stale-trial", "task-gone"].includes(data.state) || this.waiting.length === 1) this.leave(data.location ?? this.#root.dataset.batchUrl);
    } else {
      this.#page.refused(answer, data.message ?? this.#root.dataset.textFailed);
    }
    return true;
  }
}
