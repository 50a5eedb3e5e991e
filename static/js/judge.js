// Two captions of an image, one answer, the next pair. An answer is on its way or in; none is skipped, none sent twice.

import { ActiveTime } from "./active_time.js";
import { announce, isUndoKey, outcomeOf, send, signInLink, waitBeforeAttempt } from "./page.js";
import { openZoom } from "./zoom.js";

const KEYS_WANTED = "crosslens.judging-keys";
const LET_IT_BE_SEEN_MS = 120;
// The second half of a double click, or a key held down, is not meant for the next pair.
const DEAF_MS = 250;

const root = document.getElementById("judging");
const zoom = document.getElementById("zoom");
const texts = root.dataset;
const time = new ActiveTime();

let trial = document.getElementById("trial");
let deafUntil = 0;
// What is on its way: {url, fields, button, ms, attempt, timer, isInFlight, isHeldUp}.
let sending = null;
// Comments on pairs that were left by undoing.
const comments = new Map();

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const part = (name) => trial.querySelector(`[data-${name}]`);
const answers = () => [...trial.querySelectorAll("[name=choice]")];
const isDeaf = () => sending !== null || performance.now() < deafUntil;

// Sending: one answer at a time, again until it got through. The server takes the same answer twice for one.
function submit(button) {
  if (isDeaf()) return;
  const fields = new FormData(trial);
  fields.delete("csrfmiddlewaretoken");
  const isUndo = "undo" in button.dataset;
  if (!isUndo) fields.set("choice", button.value);
  // Time at a pair that is left by undoing waits for its return.
  const ms = isUndo ? 0 : time.take(trial.action);
  fields.set("active_ms", ms);
  time.look(null);
  // A comment goes with its answer, or waits until its pair comes again.
  trial.elements.comment.readOnly = true;
  if (isUndo) comments.set(trial.action, trial.elements.comment.value);
  else comments.delete(trial.action);
  sending = { url: isUndo ? button.formAction : trial.action, fields, button, ms, attempt: 0 };
  button.classList.add("is-chosen");
  for (const other of trial.querySelectorAll("button")) other.setAttribute("aria-disabled", "true");
  sendNow();
}

async function sendNow() {
  const now = sending;
  if (!now || now.isInFlight) return;
  clearTimeout(now.timer);
  now.isInFlight = true;
  const [answer] = await Promise.all([send(now.url, now.fields).catch(() => ({ status: 0 })), pause(LET_IT_BE_SEEN_MS)]);
  now.isInFlight = false;
  receive(answer, now);
}

function receive(answer, { button }) {
  const { moved, data = {} } = answer;
  const outcome = outcomeOf(answer);
  if (outcome === "saved" && data.state === "next") {
    sending = null;
    return show(data.html, { isUndone: "undo" in button.dataset });
  }
  sending.isHeldUp = true;
  if (outcome === "signed-out") return say("signed-out");
  if (moved) return leave(texts.batchUrl);
  if (outcome === "saved" || outcome === "closed") return leave(data.location);
  if (outcome !== "offline") return letAnswerAgain((outcome === "refused" && data.message) || texts.textFailed);
  say("offline", data.message);
  sending.timer = setTimeout(sendNow, waitBeforeAttempt(sending.attempt++));
}

addEventListener("online", sendNow);
addEventListener("focus", sendNow);
addEventListener("beforeunload", (event) => sending?.isHeldUp && event.preventDefault());

function say(name, text = { offline: texts.textOffline, "signed-out": texts.textSignedOut }[name]) {
  const state = part("state");
  // Said again, it is left as it is: its link may have the focus.
  if (state.dataset.state === name && state.firstChild?.textContent === text) return;
  state.dataset.state = name;
  state.replaceChildren(text);
  if (name === "signed-out") state.append(" ", signInLink(root, { newTab: true }));
  announce(text);
}

function letAnswerAgain(text) {
  sending.button.classList.remove("is-chosen");
  trial.elements.comment.readOnly = false;
  time.putBack(trial.action, sending.ms);
  time.look(trial.action);
  sending = null;
  for (const button of trial.querySelectorAll("button")) button.removeAttribute("aria-disabled");
  say("refused", text);
}

// The next pair takes the place of the one before.
function show(html, { isUndone }) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const next = template.content.querySelector("#trial");
  trial.replaceWith(next);
  trial = next;
  deafUntil = performance.now() + DEAF_MS;
  begin();
  scrollTo({ top: 0, behavior: "instant" });
  trial.focus({ preventScroll: true });
  announce([isUndone && texts.textUndone, part("number").textContent].filter(Boolean).join(" "));
}

function begin() {
  time.look(trial.action);
  trial.querySelector("#keys").checked = areKeysOn;
  const { comment } = trial.elements;
  if (comments.get(trial.action)) {
    comment.value = comments.get(trial.action);
    comment.closest("details").open = true;
  }
  const ahead = part("ahead");
  if (ahead) {
    const { sizes } = trial.querySelector(".trial__stage img") ?? {};
    Object.assign(new Image(), { sizes: sizes ?? "", srcset: ahead.dataset.srcset, src: ahead.dataset.src });
  }
}

root.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.submitter) submit(event.submitter);
});
root.addEventListener("click", (event) => {
  // The second click of a double one, however slow the hand.
  if (event.detail > 1 && event.target.closest("button")) event.preventDefault();
});

// Keys, which a checkbox switches off.
let areKeysOn = true;
try {
  areKeysOn = localStorage.getItem(KEYS_WANTED) !== "off";
} catch {
  // No storage: on.
}

function wantKeys(isWanted) {
  areKeysOn = isWanted;
  texts.keys = isWanted ? "on" : "off";
  try {
    localStorage.setItem(KEYS_WANTED, texts.keys);
  } catch {
    // No storage: until the page is left.
  }
}

root.addEventListener("change", (event) => event.target.id === "keys" && wantKeys(event.target.checked));

function digit(event) {
  if (/^[0-9]$/.test(event.key)) return event.key;
  // Where digits have other shapes, or are reached with Shift, the place of the key counts.
  return event.shiftKey ? null : (/^Digit([0-9])$/.exec(event.code)?.[1] ?? null);
}

addEventListener("keydown", (event) => {
  // What fills forms in tells of keys without a name.
  if (!event.key || event.isComposing || zoom.open) return;
  const comment = event.target.closest?.("#comment");
  if (comment && (event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey)))) {
    event.preventDefault();
    return trial.focus({ preventScroll: true });
  }
  // Enter in a checkbox would send the form by its first button.
  if (event.key === "Enter" && event.target.id === "keys") return event.preventDefault();
  if (comment || !areKeysOn || event.ctrlKey || event.metaKey || event.altKey) return;
  const button = isUndoKey(event) ? part("undo") : answers().find((answer) => answer.dataset.key === digit(event));
  if (!button) return;
  event.preventDefault();
  if (!event.repeat) submit(button);
});

// Enter or Space held down on a button of the pair before must not press one of this.
root.addEventListener("keydown", (event) => event.repeat && event.target.closest("button") && event.preventDefault());

// Leaving: the captions go first, and the page does not stay in the history.
const wipe = () => trial.querySelectorAll("[data-caption]").forEach((caption) => caption.replaceChildren());

function leave(where) {
  sending = null;
  deafUntil = Infinity;
  wipe();
  location.replace(where);
}

addEventListener("pagehide", wipe);
addEventListener("pageshow", (event) => event.persisted && location.reload());

texts.keys = areKeysOn ? "on" : "off";
openZoom(root, zoom);
begin();
