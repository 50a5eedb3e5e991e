// Two captions of an image, one answer, the next pair, which is here already. Answers follow, in order, each once.

import { ActiveTime } from "./active_time.js";
import { announce, isUndoKey, outcomeOf, send, signInLink } from "./page.js";
import { SendingQueue } from "./sending_queue.js";
import { openZoom } from "./zoom.js";

const KEYS_WANTED = "crosslens.judging-keys";
const LET_IT_BE_SEEN_MS = 120;
// The second half of a double click, or a key held down, is not meant for the next pair.
const DEAF_MS = 250;

const root = document.getElementById("judging");
const zoom = document.getElementById("zoom");
const texts = root.dataset;
const time = new ActiveTime();

// The pair that is next, and the one on the page, which is the one before it for as long as its answer is to be seen.
let trial = document.getElementById("trial");
let shown = trial;
// Pairs that were answered here, and those that come after `trial`.
const past = [];
const upcoming = [];
// The answer after which there is nothing to show until the server was heard.
let awaited = null;
let deafUntil = 0;
let isLeft = false;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const positionOf = (pair) => Number(/\/(\d+)\/$/.exec(pair.action)[1]);
const part = (name) => trial.querySelector(`[data-${name}]`);
const answers = () => [...trial.querySelectorAll("[name=choice]")];

async function submit(button) {
  if (awaited || performance.now() < deafUntil) return;
  deafUntil = Infinity;
  const fields = new FormData(trial);
  fields.delete("csrfmiddlewaretoken");
  const isUndo = "undo" in button.dataset;
  if (!isUndo) fields.set("choice", button.value);
  // Time at a pair that is left by undoing waits for its return.
  const ms = isUndo ? 0 : time.take(trial.action);
  fields.set("active_ms", ms);
  time.look(null);
  button.classList.add("is-chosen");
  trial.elements.comment.readOnly = true;
  for (const one of trial.querySelectorAll("button")) one.setAttribute("aria-disabled", "true");
  const next = isUndo ? past.pop() : upcoming.shift();
  const answer = { url: isUndo ? button.formAction : trial.action, fields, isUndo, ms, trial, next };
  if (next) {
    if (isUndo) upcoming.unshift(trial);
    else past.push(trial);
    trial = next;
  } else {
    awaited = answer;
  }
  saving.add(answer);
  await pause(LET_IT_BE_SEEN_MS);
  if (next && trial === next) show({ isUndone: isUndo });
}

// The server takes the same answer twice for one.
const saving = new SendingQueue(deliver);

async function deliver(answer) {
  if (answer.next) answer.fields.set("shown", positionOf(answer.next));
  const sent = send(answer.url, answer.fields).catch(() => ({ status: 0 }));
  const [came] = await Promise.all([sent, answer === awaited && pause(LET_IT_BE_SEEN_MS)]);
  const { moved, data = {} } = came;
  const outcome = outcomeOf(came);
  if (outcome === "saved" && data.state === "next") {
    notify("");
    receive(answer, data);
  } else if (outcome === "offline" || outcome === "signed-out") {
    notify(outcome, (outcome === "offline" && data.message) || TEXTS[outcome]);
    return false;
  } else if (moved) leave(texts.batchUrl);
  else if (outcome === "saved" || outcome === "closed") leave(data.location);
  else refuse(answer, (outcome === "refused" && data.message) || texts.textFailed);
  return true;
}

function receive(answer, { html, ahead }) {
  const [came, after] = [html, ahead].map(pairOf);
  if (awaited === answer && answer.isUndo) {
    upcoming.unshift(trial);
    return show({ pair: came, isUndone: true });
  }
  if (came && !awaited && saving.waiting.length === 1) {
    // Another pair is next than was thought, or there is something to be said about this answer.
    upcoming.length = 0;
    show({ pair: came });
  }
  for (const pair of [came, after]) comesNext(pair);
  if (!awaited || awaited.isUndo || !upcoming.length) return;
  past.push(trial);
  awaited.next = upcoming.shift();
  show({ pair: awaited.next });
}

function comesNext(pair) {
  if (pair && positionOf(pair) > positionOf(upcoming.at(-1) ?? trial)) upcoming.push(pair);
}

/** A pair that the server sent; its image is fetched from now on. */
function pairOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return document.importNode(template.content, true).querySelector("#trial");
}

/** Bring back what the server did not take; what was answered after it comes again. */
function refuse(answer, said) {
  if (answer.isUndo) return leave(texts.batchUrl);
  saving.clear();
  const place = past.indexOf(answer.trial);
  if (place >= 0) upcoming.unshift(...past.splice(place).slice(1), trial);
  time.putBack(answer.trial.action, answer.ms);
  show({ pair: answer.trial });
  notify("refused", said);
}

const TEXTS = { offline: texts.textOffline, "signed-out": texts.textSignedOut };
// What is said for as long as answers wait.
let held = null;
addEventListener("beforeunload", (event) => (held || saving.waiting.length > 1) && event.preventDefault());

function notify(name, said = "") {
  held = name in TEXTS ? { name, said } : null;
  const state = part("state");
  // Said again, it is left as it is: its link may have the focus.
  if (state.dataset.state === name && (state.firstChild?.textContent ?? "") === said) return;
  state.dataset.state = name;
  state.replaceChildren(said);
  if (name === "signed-out") state.append(" ", signInLink(root, { newTab: true }));
  if (name) announce(said);
}

function show({ pair = trial, isUndone = false }) {
  if (isLeft) return;
  trial = pair;
  awaited = null;
  document.querySelector(".messages")?.remove();
  if (shown !== trial) shown.replaceWith(trial);
  shown = trial;
  deafUntil = performance.now() + DEAF_MS;
  begin();
  scrollTo({ top: 0, behavior: "instant" });
  trial.focus({ preventScroll: true });
  announce([isUndone && texts.textUndone, part("number").textContent].filter(Boolean).join(" "));
}

function begin() {
  time.look(trial.action);
  trial.querySelector("#keys").checked = areKeysOn;
  trial.elements.comment.readOnly = false;
  for (const button of trial.querySelectorAll("button")) {
    button.classList.remove("is-chosen");
    button.removeAttribute("aria-disabled");
  }
  const { name, said } = held ?? { name: "" };
  notify(name, said);
}

// After what this pair needs itself.
const ahead = document.getElementById("ahead");
addEventListener("load", () => {
  if (ahead && !isLeft) comesNext(pairOf(ahead.innerHTML));
  ahead?.remove();
});

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
function wipe() {
  for (const pair of [shown, trial, ...past, ...upcoming]) pair.querySelectorAll("[data-caption]").forEach((one) => one.replaceChildren());
  ahead?.remove();
}

function leave(where) {
  isLeft = true;
  deafUntil = Infinity;
  saving.clear();
  wipe();
  location.replace(where);
}

addEventListener("pagehide", wipe);
addEventListener("pageshow", (event) => event.persisted && location.reload());

texts.keys = areKeysOn ? "on" : "off";
openZoom(root, zoom);
begin();
