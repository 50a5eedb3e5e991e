// Saving a text as it is typed: first on this device, then on the server, until the server has that very text.

import * as disk from "./disk.js";
import { outcomeOf, send, waitBeforeAttempt } from "./page.js";

const PAUSE_MS = 600;
const KEPT_DAYS = 60;
const PREFIX = "crosslens.draft/";
const STORED = "crosslens.stored/";
const GONE = "crosslens.gone/";

/** Texts that the server has not confirmed, on this device, apart for each person, batch, position and revision. */
export class Kept {
  #prefix;
  #stored;
  #gone;

  constructor(user, batch, position) {
    this.#prefix = `${PREFIX}${user}/${batch}/${position}/`;
    this.#stored = `${STORED}${user}/${batch}/${position}`;
    this.#gone = `${GONE}${user}/${batch}/${position}`;
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

  /** Forget the text that was kept at that time, unless its field is open by now, with a later text. */
  clearThatOf(at) {
    if (this.newest()?.at === at) this.clear();
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

  /** Never send a text again, which the server does not take any more, but keep it until its writer has seen it. */
  giveUp({ text, at }, why) {
    this.clearThatOf(at);
    try {
      localStorage.setItem(`${this.#gone}/${at}`, JSON.stringify({ text, why, at: Date.now() }));
    } catch {
      // No storage to keep it in.
    }
  }

  /** The last text that this device knows of, unsent or stored; null if it knows none. */
  get last() {
    const newest = this.newest();
    return newest ? { text: newest.text, isAutosaved: !newest.confirms } : read(this.#stored);
  }

  #forgetOld() {
    const oldest = Date.now() - KEPT_DAYS * 24 * 3600 * 1000;
    for (const key of [PREFIX, STORED, GONE].flatMap(keysFrom)) {
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

/** Texts of a batch that were given up, and why. */
export const goneIn = (user, batch) =>
  keysFrom(`${GONE}${user}/${batch}/`).map((key) => ({ key, ...read(key) }));

export const forgetGone = (key) => localStorage.removeItem(key);

/** Where the text of the image at `position` is saved; `url` is where that of any other image of the batch is. */
export const draftAt = (url, position) => url.replace(/\/\d+\/draft\/$/, `/${position}/draft/`);

/** Positions of the images of the batch, `but` one, of which a text waits on this device, the oldest first. */
export function waitingIn({ user, batch, but = null }) {
  const prefix = `${PREFIX}${user}/${batch}/`;
  const positions = [...new Set(keysFrom(prefix).map((key) => key.slice(prefix.length).split("/")[0]))];
  return positions
    .filter((position) => position !== String(but))
    .map((position) => ({ position, found: new Kept(user, batch, position).newest() }))
    .filter(({ found }) => found)
    .sort((one, other) => one.found.at - other.found.at)
    .map(({ position }) => position);
}

/** Send the text that waits at `position`, if one does; resolves to it, and to what became of it. */
export async function sendWaiting({ user, batch, draft, ahead = "" }, position) {
  const kept = new Kept(user, batch, position);
  const found = kept.newest();
  return found && { found, ...(await sendOne(kept, draftAt(draft, position), { ...found, ahead }, found.revision)) };
}

async function sendOne(kept, url, found, revision, isAgain = false) {
  const { text, sent, confirms, ms, marks, at, ahead } = found;
  kept.put(revision, { ...found, sent: [...sent, text] });
  let answer;
  try {
    answer = await send(url, { text, revision, active_ms: isAgain ? 0 : (ms ?? 0), ahead, ...marks, ...asConfirmed(confirms) });
  } catch {
    answer = { status: 0 };
  }
  const outcome = outcomeOf(answer);
  // Ours: it was saved, only the answer was lost on the way. Anything else is asked on the page of that image.
  if (outcome === "conflict" && [...sent, text].includes(answer.data.text) && !isAgain) {
    return sendOne(kept, url, found, answer.data.revision, true);
  }
  if (outcome === "saved") {
    kept.confirm(answer.data.revision, text, answer.data.is_autosaved);
    kept.clearThatOf(at);
  }
  if (outcome === "gone") kept.giveUp(found, answer.data.message);
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
 * `show(state, details)` is told of every change of state: saving, saved, offline, signed-out, conflict, gone,
 * closed, refused or failed. `time` has take() and putBack(ms); `marks()` gives what is noted of the writing.
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
  // Time on task that was not sent when the image was left.
  #ms = 0;
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
  async flush({ withTime = false } = {}) {
    clearTimeout(this.#timer);
    this.#flight ??= this.#send(withTime).finally(() => (this.#flight = null));
    const isSaved = await this.#flight;
    return isSaved && this.isDirty && !this.#ending.signal.aborted ? this.flush() : isSaved;
  }

  /** Confirm the text on this device alone, for it to be sent once the image was left; gives whether it could be kept. */
  keep({ confirms }) {
    if (confirms) this.mustConfirm = true;
    if (this.isDirty) this.#keep();
    else this.flush({ withTime: true });
    return this.isKept;
  }

  /** Leave this image: what the server lacks stays on this device. Resolves once nothing of it is on its way. */
  end() {
    clearTimeout(this.#timer);
    this.#ending.abort();
    this.#show = () => {};
    if (this.isDirty) {
      this.#ms = this.#time.take();
      this.#keep();
    }
    return Promise.resolve(this.#flight);
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

  async #send(withTime) {
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
      answer = await send(this.#url, { text, revision, active_ms: ms, ...this.#marks(), ...asConfirmed(mustConfirm) });
    } catch {
      answer = { status: 0 };
    }
    if (answer.status !== 200) this.#putBack(ms);
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
        // Another tab on this device may have forgotten what was typed here, when its own text was saved.
        if (this.isDirty) this.#keep();
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

  #keep() {
    const { text, mustConfirm: confirms } = this;
    this.isKept = this.#kept.put(this.revision, { text, sent: this.#sent, confirms, ms: this.#ms, marks: this.#marks() });
  }

  #putBack(ms) {
    if (!this.#ending.signal.aborted) return this.#time.putBack(ms);
    this.#ms += ms;
    if (this.isDirty) this.#keep();
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
