// Saving a text as it is typed: first on this device, then on the server, until the server has that very text.

import * as disk from "./disk.js";
import { outcomeOf, send, waitBeforeAttempt } from "./page.js";

const PAUSE_MS = 600;
const KEPT_DAYS = 60;
const PREFIX = "crosslens.draft/";
const STORED = "crosslens.stored/";

/** Texts that the server has not confirmed, on this device, apart for each person, batch, position and revision. */
export class Kept {
  #prefix;
  #stored;

  constructor(user, batch, position) {
    this.#prefix = `${PREFIX}${user}/${batch}/${position}/`;
    this.#stored = `${STORED}${user}/${batch}/${position}`;
  }

  /**
   * Whether it could be kept. `sent` are the texts that the server may have without our knowing, `ms` unsent time;
   * `confirms` says that the writer has confirmed the text.
   */
  put(revision, { text, sent, confirms, ms = 0, marks = {}, at = Date.now() }) {
    const kept = JSON.stringify({ revision, text, sent: [...sent], confirms, ms, marks, at });
    disk.put(this.#prefix + revision, kept);
    try {
      localStorage.setItem(this.#prefix + revision, kept);
      return true;
    } catch {
      return false;
    }
  }

  newest() {
    const found = keysFrom(this.#prefix).map(read).filter(Boolean);
    return found.sort((one, other) => other.at - one.at)[0] ?? null;
  }

  clear({ but = null } = {}) {
    for (const key of keysFrom(this.#prefix)) if (key !== this.#prefix + but) localStorage.removeItem(key);
    disk.removeAll(this.#prefix, this.#prefix + but);
  }

  /** Bring back what a crash of the browser left on the disk alone. Begin it before `newest` or `clear`. */
  async recover() {
    for (const [key, kept] of await disk.all(PREFIX)) {
      try {
        const { at } = JSON.parse(kept);
        // The page may have been left before the disk had forgotten a text that the server confirmed.
        if (read(storedKeyOf(key))?.at > at) disk.removeAll(key);
        else if (!(read(key)?.at >= at)) localStorage.setItem(key, kept);
      } catch {
        // No storage to bring it back to.
      }
    }
    this.#forgetOld();
  }

  /** Note what the server has, for a page of an older revision: on its way to this tab already, or kept on this device. */
  confirm(revision, text, isAutosaved) {
    try {
      localStorage.setItem(this.#stored, JSON.stringify({ revision, text, isAutosaved, at: Date.now() }));
    } catch {
      // No storage: such a page asks which text to keep.
    }
  }

  /** What the server has, where this device knows of a later text than `revision`; else null. */
  laterThan(revision) {
    const known = read(this.#stored);
    return known?.revision > revision ? known : null;
  }

  /** The last text that this device knows of, unsent or stored; null if it knows none. */
  get last() {
    const newest = this.newest();
    return newest ? { text: newest.text, isAutosaved: !newest.confirms } : read(this.#stored);
  }

  #forgetOld() {
    const oldest = Date.now() - KEPT_DAYS * 24 * 3600 * 1000;
    for (const key of [...keysFrom(PREFIX), ...keysFrom(STORED)]) {
      if (read(key)?.at > oldest) continue;
      localStorage.removeItem(key);
      disk.removeAll(key);
    }
  }

}

const storedKeyOf = (key) => STORED + key.slice(PREFIX.length, key.lastIndexOf("/"));

function keysFrom(prefix) {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  } catch {
    return [];
  }
}

/** Forget what the server has: it can no longer be changed. */
export function forgetStored() {
  for (const key of keysFrom(STORED)) localStorage.removeItem(key);
}

/** Where the text of the image at `position` is saved; `url` is where that of any other image of the batch is. */
export const draftAt = (url, position) => url.replace(/\/\d+\/draft\/$/, `/${position}/draft/`);

/**
 * Send what this device keeps of images of the batch other than `but`, the oldest first; resolves to how many still wait,
 * and to the positions of those of which the server has another text. `tell(position, text, answer)` hears of each sent.
 */
export async function sendWaiting({ user, batch, draft, but = null, tell = () => {} }) {
  const prefix = `${PREFIX}${user}/${batch}/`;
  const positions = [...new Set(keysFrom(prefix).map((key) => key.slice(prefix.length).split("/")[0]))];
  const waiting = positions
    .filter((position) => position !== String(but))
    .map((position) => ({ position, kept: new Kept(user, batch, position), url: draftAt(draft, position) }))
    .map((one) => ({ ...one, found: one.kept.newest() }))
    .filter(({ found }) => found)
    .sort((one, other) => one.found.at - other.found.at);
  let left = waiting.length;
  const conflicts = [];
  for (const { position, kept, url, found } of waiting) {
    const { outcome, data } = await sendOne(kept, url, found, found.revision);
    if (outcome === "saved") {
      left -= 1;
      tell(position, found.text, data);
    }
    if (outcome === "conflict") conflicts.push(position);
    if (outcome === "offline") break;
  }
  return { left, conflicts };
}

async function sendOne(kept, url, found, revision, isAgain = false) {
  const { text, sent, confirms, ms, marks } = found;
  kept.put(revision, { ...found, sent: [...sent, text] });
  let answer;
  try {
    answer = await send(url, { text, revision, active_ms: isAgain ? 0 : (ms ?? 0), ...marks, ...asConfirmed(confirms) });
  } catch {
    return { outcome: "offline" };
  }
  const outcome = outcomeOf(answer);
  // Ours: it was saved, only the answer was lost on the way. Anything else is asked on the page of that image.
  if (outcome === "conflict" && [...sent, text].includes(answer.data.text) && !isAgain) {
    return sendOne(kept, url, found, answer.data.revision, true);
  }
  if (outcome === "saved") {
    kept.confirm(answer.data.revision, text, answer.data.is_autosaved);
    // Its field may be open by now, with a later text.
    if (kept.newest()?.text === text) kept.clear();
  }
  return { outcome, data: answer.data };
}

const asConfirmed = (confirms) => (confirms ? { confirms: "yes" } : {});

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

/**
 * `show(state, details)` is told of every change of state: saving, saved, offline, signed-out, conflict, closed,
 * refused or failed. `time` has take() and putBack(ms); `marks()` gives what is noted of the writing.
 */
export class Saver {
  text;
  revision;
  conflict = null;
  isKept = true;
  // Whether the server has the text as one that its writer has not confirmed.
  isAutosaved;
  // Whether the writer has confirmed the text, and the server does not know it yet.
  mustConfirm = false;
  #saved;
  #sent = new Set();
  #url;
  #kept;
  #time;
  #marks;
  #show;
  #flight = null;
  #timer = null;
  #attempt = 0;
  #mustWaitForTyping = false;
  #ending = new AbortController();

  constructor({ url, revision, text, isAutosaved, kept, time, marks, show }) {
    Object.assign(this, { revision, text, isAutosaved });
    this.#saved = text;
    this.#url = url;
    this.#kept = kept;
    this.#time = time;
    this.#marks = marks;
    this.#show = show;
    const { signal } = this.#ending;
    for (const sign of ["online", "focus", "pagehide"]) addEventListener(sign, () => this.#retry(), { signal });
    document.addEventListener("visibilitychange", () => this.#retry(), { signal });
    addEventListener("crosslens:signing-out", () => this.#forget(), { signal });
  }

  get isDirty() {
    return this.text !== this.#saved || this.mustConfirm;
  }

  /** What this device kept and the server lacks, or null. Sends it, or asks which to keep where both have moved on. */
  restore() {
    const found = this.#kept.newest();
    if (!found || (found.text === this.#saved && !(found.confirms && this.isAutosaved))) {
      this.#kept.clear();
      return null;
    }
    this.text = found.text;
    this.#sent = new Set(found.sent);
    if (found.ms) this.#time.putBack(found.ms);
    if (found.revision === this.revision || this.#sent.has(this.#saved)) {
      this.change(found.text, { confirms: found.confirms });
      this.flush();
    } else {
      this.askWhich({ revision: this.revision, text: this.#saved, is_autosaved: this.isAutosaved });
    }
    return found.text;
  }

  change(text, { confirms = false } = {}) {
    this.text = text;
    this.mustConfirm = confirms;
    this.#mustWaitForTyping = false;
    this.#keep();
    if (this.conflict) return;
    this.#show("saving");
    this.#later(PAUSE_MS);
  }

  /** Whether the server has the text now. `withTime`: send the time on task also where the text is the same. */
  async flush({ withTime = false, about = {} } = {}) {
    clearTimeout(this.#timer);
    this.#flight ??= this.#send(withTime, about).finally(() => (this.#flight = null));
    const isSaved = await this.#flight;
    return isSaved && this.isDirty ? this.flush() : isSaved;
  }

  /** Leave this image. A text that could not be sent stays on this device, with the time on task. */
  end() {
    if (this.isDirty) this.#keep(this.#time.take());
    clearTimeout(this.#timer);
    this.#ending.abort();
  }

  askWhich(stored) {
    this.conflict = stored;
    this.#show("conflict", stored);
  }

  keepMine() {
    this.revision = this.conflict.revision;
    this.#saved = this.conflict.text;
    this.conflict = null;
    this.change(this.text);
    return this.flush();
  }

  takeStored() {
    ({ revision: this.revision, text: this.text, is_autosaved: this.isAutosaved } = this.conflict);
    this.#saved = this.text;
    this.conflict = null;
    this.mustConfirm = false;
    this.#confirm();
    this.#show("saved");
  }

  async #send(withTime, about = {}) {
    if (this.conflict) return false;
    if (!this.isDirty && !withTime) {
      this.#confirm();
      this.#show("saved");
      return true;
    }
    const { text, revision, mustConfirm } = this;
    const ms = this.#time.take();
    if (this.isDirty) {
      this.#sent.add(text);
      this.#keep();
    }
    let answer;
    try {
      answer = await send(this.#url, { text, revision, active_ms: ms, ...this.#marks(), ...asConfirmed(mustConfirm), ...about });
    } catch {
      answer = { status: 0 };
    }
    if (answer.status !== 200) this.#time.putBack(ms);
    return this.#take(answer, text, mustConfirm);
  }

  #take(answer, text, isConfirmed) {
    const { data } = answer;
    const outcome = outcomeOf(answer);
    if (outcome === "saved") {
      this.revision = data.revision;
      this.#saved = text;
      this.isAutosaved = data.is_autosaved;
      if (isConfirmed && text === this.text) this.mustConfirm = false;
      this.#attempt = 0;
      this.#confirm();
      this.#show(this.isDirty ? "saving" : "saved", data);
      return true;
    }
    if (outcome === "conflict") {
      if (!this.#sent.has(data.text)) {
        this.askWhich(data);
        return false;
      }
      // Ours: it was saved, only the answer was lost on the way.
      this.revision = data.revision;
      this.#saved = data.text;
      return this.#send(false);
    }
    if (outcome === "offline") this.#later(waitBeforeAttempt(this.#attempt++));
    this.#mustWaitForTyping = outcome !== "offline" && outcome !== "signed-out";
    this.#show(outcome, data);
    return false;
  }

  #confirm() {
    this.#sent.clear();
    this.#kept.confirm(this.revision, this.#saved, this.isAutosaved);
    if (this.isDirty) this.#keep();
    this.#kept.clear({ but: this.isDirty ? this.revision : null });
  }

  #keep(ms = 0) {
    const { text, mustConfirm: confirms } = this;
    this.isKept = this.#kept.put(this.revision, { text, sent: this.#sent, confirms, ms, marks: this.#marks() });
  }

  #later(ms) {
    clearTimeout(this.#timer);
    if (!this.#ending.signal.aborted) this.#timer = setTimeout(() => this.flush(), ms);
  }

  #forget() {
    clearTimeout(this.#timer);
    this.#saved = this.text;
    this.mustConfirm = false;
  }

  #retry() {
    if (this.isDirty && !this.conflict && !this.#mustWaitForTyping) this.flush();
  }
}
