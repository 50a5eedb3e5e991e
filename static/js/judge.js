// Two captions of an image, one answer, the next pair, which is here already. Answers follow, in order, each once.

import { ActiveTime } from "./active_time.js";
import { AnswerQueue, LET_IT_BE_SEEN_MS } from "./answer_queue.js";
import { announce, fetchImages, isDeaf, isUndoKey, pause, recall, remember, send, turnDeaf } from "./page.js";
import { openZoom } from "./zoom.js";

const KEYS_WANTED = "crosslens.judging-keys";

const root = document.getElementById("judging");
const zoom = document.getElementById("zoom");
const texts = root.dataset;
const time = new ActiveTime();

// The pair that is next, and the one on the page, which is the one before it for as long as its answer is to be seen.
let trial = document.getElementById("trial");
let shown = trial;
// Pairs that were answered here, and those that come after `trial`.
const past = [];
let upcoming = [];
// The answer after which there is nothing to show until the server was heard.
let awaited = null;

const positionOf = (pair) => Number(/\/(\d+)\/$/.exec(pair.action)[1]);
const part = (name) => trial.querySelector(`[data-${name}]`);
const answers = () => [...trial.querySelectorAll("[name=choice]")];
const imagesOf = (pairs) => pairs.flatMap((pair) => [...pair.querySelectorAll("[data-enlarge] img")]);

async function submit(button) {
  if (isDeaf()) return;
  turnDeaf(Infinity);
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
  const next = isUndo ? past.pop() : isHere(upcoming[0]) ? upcoming.shift() : null;
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
  if (next && trial === next) show(next, answer);
}

/** Whether a pair can be judged as things are: while answers wait, its image must have come before. */
const isHere = (pair) => pair && (!saving.isHeld || imagesOf([pair]).every((image) => image.naturalWidth > 0));

// The server takes the same answer twice for one.
const saving = new AnswerQueue(root, part("notice"), { send: sendAnswer, saved, refused, wipe });

async function sendAnswer(answer) {
  for (const name of ["shown", "last"]) answer.fields.delete(name);
  // Told nothing of what is here, the server sends all.
  if (!saving.isOutdated) {
    if (answer.next) answer.fields.set("shown", positionOf(answer.next));
    answer.fields.set("last", positionOf(upcoming.at(-1) ?? trial));
  }
  const [came] = await Promise.all([send(answer.url, answer.fields), answer === awaited && pause(LET_IT_BE_SEEN_MS)]);
  return came;
}

function saved(answer, { state, html, ahead, location: end }) {
  // What is next is decided once the server has all answers.
  const isLast = saving.waiting.length === 1;
  if (state !== "next") return isLast && saving.leave(end);
  if (!html || !isLast) return bring(pairsOf(ahead).filter((pair) => positionOf(pair) > positionOf(upcoming.at(-1) ?? trial)));
  // Another pair is next than was thought, or none was here.
  saving.isOutdated = false;
  const here = [trial, ...upcoming];
  const [came, ...after] = pairsOf(html + ahead).map((pair) => here.find((one) => isSame(one, pair)) ?? pair);
  if (awaited && !answer.isUndo) past.push(trial);
  upcoming = [];
  if (awaited || came !== trial || trial !== shown) show(came, answer);
  bring(after);
}

function bring(pairs) {
  upcoming.push(...pairs);
  fetchImages(imagesOf(pairs));
}

/** Whether both show the same: at the position of a pair that was reported, another may come again. */
const isSame = (one, other) => seenIn(one) === seenIn(other);
const seenIn = (pair) =>
  JSON.stringify([
    positionOf(pair),
    ...imagesOf([pair]).map((image) => image.getAttribute("src")),
    ...[...pair.querySelectorAll("[data-caption]")].map((caption) => caption.textContent),
  ]);

/** Pairs that the server sent. */
function pairsOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return [...document.importNode(template.content, true).querySelectorAll(".trial")];
}

/** Bring back what the server did not take; what was answered after it comes again. */
function refused(answer, why) {
  if (answer.isUndo) return saving.leave(texts.batchUrl);
  saving.clear();
  const place = past.indexOf(answer.trial);
  if (place >= 0) upcoming.unshift(...past.splice(place).slice(1), trial);
  time.putBack(answer.trial.action, answer.ms);
  show(answer.trial);
  saving.say("refused", why);
}

function show(pair, { isUndo = false } = {}) {
  if (saving.isLeft) return;
  trial = pair;
  awaited = null;
  document.querySelector(".messages")?.remove();
  if (shown !== trial) shown.replaceWith(trial);
  shown = trial;
  turnDeaf();
  begin();
  scrollTo({ top: 0, behavior: "instant" });
  trial.focus({ preventScroll: true });
  announce([isUndo && texts.textUndone, part("number").textContent].filter(Boolean).join(" "));
}

function begin() {
  time.look(trial.action);
  trial.querySelector("#keys").checked = texts.keys === "on";
  trial.elements.comment.readOnly = false;
  for (const button of trial.querySelectorAll("button")) {
    button.classList.remove("is-chosen");
    button.removeAttribute("aria-disabled");
  }
  saving.show(part("notice"));
}

root.addEventListener("submit", (event) => {
  if (event.submitter?.name === "report") return;
  event.preventDefault();
  if (event.submitter) submit(event.submitter);
});
root.addEventListener("click", (event) => {
  // The second click of a double one, however slow the hand.
  if (event.detail > 1 && event.target.closest("button")) event.preventDefault();
});

// Keys, which a checkbox switches off.
texts.keys = recall(KEYS_WANTED) ?? "on";
root.addEventListener("change", ({ target }) => {
  if (target.id === "keys") remember(KEYS_WANTED, (texts.keys = target.checked ? "on" : "off"));
});

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
  if (comment || texts.keys !== "on" || event.ctrlKey || event.metaKey || event.altKey) return;
  const button = isUndoKey(event) ? part("undo") : answers().find((answer) => answer.dataset.key === digit(event));
  if (!button) return;
  event.preventDefault();
  if (!event.repeat) submit(button);
});

// Enter or Space held down on a button of the pair before must not press one of this.
root.addEventListener("keydown", (event) => event.repeat && event.target.closest("button") && event.preventDefault());

function wipe() {
  for (const pair of [shown, trial, ...past, ...upcoming]) pair.querySelectorAll("[data-caption]").forEach((one) => one.replaceChildren());
}

// The pairs are here from the beginning, and their images come after what this one needs itself.
const ahead = document.getElementById("ahead");
upcoming = pairsOf(ahead?.innerHTML ?? "");
ahead?.remove();
for (const sign of ["load", "online"]) addEventListener(sign, () => fetchImages(imagesOf(upcoming)));

openZoom(root, zoom);
begin();
