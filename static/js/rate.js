// Screen 1: a level for each caption, one key each. Nothing of it is kept on the device, nor left in the page.

import { ActiveTime } from "./active_time.js";
import { announce, isUndoKey, onMoved, outcomeOf, send, signInLink, tellMoved, waitBeforeAttempt } from "./page.js";
import { openZoom } from "./zoom.js";

const KEYS_WANTED = "crosslens.rating-keys";
const LET_IT_BE_SEEN_MS = 250;
const SETTLE_MS = 900;
// The second half of a double tap is not meant for what came to its place.
const DEAF_MS = 300;
const STEPS = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };

const form = document.getElementById("rate");
const texts = form.dataset;
const items = [...form.querySelectorAll(".rate__item")];
const time = new ActiveTime();
const openButton = form.elements.open;
const undoButton = document.getElementById("undo");
const keysWanted = document.getElementById("keys");
const guidance = Object.fromEntries([...form.querySelectorAll("[data-level]")].map((line) => [line.dataset.level, line.textContent]));

const radios = (item) => [...item.querySelectorAll("input[type=radio]")];
const ratingOf = (item) => radios(item).find((radio) => radio.checked)?.value ?? "";
const isRated = (item) => ratingOf(item) !== "";
const firstUnrated = (from = 0) => {
  const order = [...items.slice(from), ...items.slice(0, from)];
  return order.find((item) => !isRated(item)) ?? null;
};

// Which caption the keys and the clock are about.
let current = null;
let settlingUntil = 0;
let deafUntil = 0;

function makeCurrent(item) {
  if (item === current) return;
  current?.classList.remove("is-current");
  current = item;
  item.classList.add("is-current");
  showUndo();
  time.look(item.dataset.position);
}

// Where the eyes are, beside the number of the image.
function showUndo() {
  undoButton.hidden = !chosen.length;
  if (chosen.length) current.querySelector(".rate__top").append(undoButton);
}

function goTo(item, { isAtOnce = false } = {}) {
  settlingUntil = performance.now() + SETTLE_MS;
  makeCurrent(item);
  const isStill = isAtOnce || matchMedia("(prefers-reduced-motion: reduce)").matches;
  const levels = item.querySelector("fieldset");
  // Not a level: there, the keys that scroll elsewhere would be about it.
  levels.focus({ preventScroll: true });
  const fits = item.offsetHeight < innerHeight;
  // Rather all levels than all of the image: those out of sight would be chosen less.
  (fits ? item : levels).scrollIntoView({ block: fits ? "center" : "end", behavior: isStill ? "instant" : "smooth" });
}

function goOnFrom(item, how) {
  const next = firstUnrated(items.indexOf(item) + 1);
  if (next) return goTo(next, how);
  announce(texts.textAllRated);
  settlingUntil = performance.now() + SETTLE_MS;
  openButton.focus();
}

// Saving: the newest rating of each caption, one request at a time for each, again until it got through.
const pending = new Map();

function save(item) {
  pending.set(item, 0);
  show(item, "saving");
  if (!item.flight) item.flight = sendRating(item).finally(() => (item.flight = null));
  return item.flight;
}

async function sendRating(item) {
  const { position } = item.dataset;
  const rating = ratingOf(item);
  const ms = time.take(position);
  let answer;
  try {
    answer = await send(item.dataset.save, { rating, active_ms: ms });
  } catch {
    answer = { status: 0 };
  }
  const outcome = outcomeOf(answer);
  if (outcome === "saved") {
    if (rating !== ratingOf(item)) return sendRating(item);
    pending.delete(item);
    show(item, rating ? "saved" : "undone");
    return;
  }
  time.putBack(position, ms);
  if (outcome === "closed") return leave(answer.data.location);
  if (outcome === "signed-out") return show(item, "signed-out");
  if (outcome !== "offline") {
    pending.delete(item);
    return show(item, "failed");
  }
  show(item, "offline", answer.data?.message);
  const attempt = pending.get(item) ?? 0;
  pending.set(item, attempt + 1);
  setTimeout(() => pending.has(item) && !item.flight && retry(item), waitBeforeAttempt(attempt));
}

function retry(item) {
  item.flight ??= sendRating(item).finally(() => (item.flight = null));
}

const retryAll = () => pending.forEach((_, item) => retry(item));
addEventListener("online", retryAll);
addEventListener("focus", retryAll);
addEventListener("beforeunload", (event) => pending.size && event.preventDefault());

const TEXTS = { saving: texts.textSaving, saved: texts.textSaved, undone: texts.textUndone, offline: texts.textOffline, "signed-out": texts.textSignedOut };

function show(item, name, said = TEXTS[name] ?? texts.textFailed) {
  const state = item.querySelector("[data-state]");
  if (!["saving", "saved", "undone"].includes(name) && state.dataset.state !== name) announce(said);
  state.dataset.state = name;
  state.replaceChildren(said);
  if (name === "signed-out") state.append(" ", signInLink(form, { newTab: true }));
}

function showProgress() {
  const rated = items.filter(isRated).length;
  form.querySelector("[data-rated-count]").textContent = rated;
  form.querySelector("progress").value = rated;
  // Not `disabled`: who asks why it does not open is taken to the caption that lacks a rating.
  openButton.setAttribute("aria-disabled", String(rated < items.length));
  document.getElementById("open-help").hidden = rated === items.length;
}

const hint = (item, level) => (item.querySelector("[data-hint]").textContent = guidance[level] ?? "");

// Choosing.
form.addEventListener("click", (event) => event.detail && performance.now() < deafUntil && event.preventDefault(), { capture: true });
form.addEventListener("pointerdown", (event) => {
  const item = event.target.closest(".rate__item");
  if (item) makeCurrent(item);
});

// Ratings before each choice, so that the choice can be undone.
const chosen = [];
const known = new Map(items.map((item) => [item, ratingOf(item)]));

function choose(item) {
  chosen.push([item, known.get(item)]);
  known.set(item, ratingOf(item));
  item.dataset.rated = "";
  item.classList.remove("is-missing");
  makeCurrent(item);
  showProgress();
  save(item);
}

function undo() {
  const [item, before] = chosen.pop() ?? [];
  if (!item) return;
  for (const radio of radios(item)) radio.checked = radio.value === before;
  known.set(item, before);
  item.toggleAttribute("data-rated", before !== "");
  hint(item, before);
  goTo(item, { isAtOnce: true });
  announce(texts.textUndone);
  showProgress();
  save(item);
}

undoButton.addEventListener("click", undo);

for (const item of items) {
  item.addEventListener("change", (event) => {
    hint(item, event.target.value);
    choose(item);
    setTimeout(() => {
      if (current !== item || !isRated(item)) return;
      deafUntil = performance.now() + DEAF_MS;
      goOnFrom(item);
    }, LET_IT_BE_SEEN_MS);
  });
  item.addEventListener("focusin", (event) => {
    makeCurrent(item);
    if (event.target.type === "radio") hint(item, event.target.value);
  });
  item.addEventListener("pointerover", (event) => {
    const radio = event.target.closest(".level")?.querySelector("input");
    if (radio && event.pointerType === "mouse") hint(item, radio.value);
  });
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (document.querySelector("dialog[open]") || event.target.matches?.("textarea, select, input:not([type=radio], [type=checkbox])")) return;
  if (keysWanted.checked && isUndoKey(event)) return undo();
  const radio = keysWanted.checked && current && radios(current)["12345".indexOf(event.key)];
  if (!radio) return;
  if (isInSight(current)) return chooseByKey(event, radio);
  event.preventDefault();
  goTo(current, { isAtOnce: true });
});

function chooseByKey(event, radio) {
  const item = radio.closest(".rate__item");
  event.preventDefault();
  radio.checked = true;
  hint(item, radio.value);
  choose(item);
  // The next key is about what is in sight by then.
  goOnFrom(item, { isAtOnce: true });
}

function isInSight(item) {
  const { top, bottom } = item.querySelector("[data-english]").getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

// Browsers let arrow keys choose a level: here they only lead to it, and Space, a click or its own key chooses it.
form.addEventListener("keydown", (event) => {
  if (event.target.type !== "radio" || event.ctrlKey || event.metaKey || event.altKey) return;
  // It would send the form.
  if (event.key === "Enter") return event.preventDefault();
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  const levels = radios(event.target.closest(".rate__item"));
  levels.at((levels.indexOf(event.target) + step) % levels.length).focus();
});

/** One stop for Tab in each item: where the focus is, else the chosen level, else where the focus was last. */
function setStop(item) {
  const levels = radios(item);
  const stop =
    levels.find((level) => level === document.activeElement) ??
    levels.find(({ checked }) => checked) ??
    levels.find(({ tabIndex }) => tabIndex === 0);
  for (const level of levels) level.tabIndex = level === stop ? 0 : -1;
}

for (const item of items) {
  for (const change of ["focusin", "focusout", "change"]) item.addEventListener(change, () => setStop(item));
  setStop(item);
}

// What is scrolled to is what the keys are about.
const inTheMiddle = new IntersectionObserver(
  (seen) => {
    const entry = seen.find(({ isIntersecting }) => isIntersecting);
    if (entry && performance.now() > settlingUntil) makeCurrent(entry.target);
  },
  { rootMargin: "-49% 0px -50% 0px" },
);
for (const item of items) inTheMiddle.observe(item);

// Going on: asked for once, and gone for good.
const dialog = document.getElementById("confirm");

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const missing = firstUnrated();
  if (missing) {
    missing.classList.add("is-missing");
    announce(texts.textMissing);
    return goTo(missing);
  }
  dialog.returnValue = "";
  dialog.showModal();
});

dialog.addEventListener("close", () => dialog.returnValue === "open" && openWriting());

const problem = dialog.querySelector("[data-problem]");
const noConnection = problem.textContent;

async function openWriting() {
  openButton.setAttribute("aria-disabled", "true");
  problem.hidden = true;
  await Promise.all(items.map((item) => item.flight));
  const fields = new FormData(form);
  fields.set("open", "1");
  const { status, data } = await send(form.action, fields).catch(() => ({ data: {} }));
  if (status === 200 && data.location) {
    tellMoved(texts.batch);
    return leave(data.location);
  }
  const isSignedOut = status === 401 || status === 403;
  problem.replaceChildren(isSignedOut ? texts.textSignedOut : (data.message ?? noConnection));
  if (isSignedOut) problem.append(" ", signInLink(form, { newTab: true }));
  problem.hidden = false;
  dialog.showModal();
  showProgress();
}

// Leaving: the captions go first, and the page does not stay in the history.
const wipe = () => form.querySelectorAll("[data-english]").forEach((caption) => caption.replaceChildren());

let isLeaving = false;

function leave(where) {
  // Several answers may lead away at once; a second call would break off the first.
  if (isLeaving) return;
  isLeaving = true;
  pending.clear();
  wipe();
  location.replace(where);
}

onMoved(texts.batch, () => leave(texts.batchUrl));
addEventListener("pagehide", wipe);
addEventListener("pageshow", (event) => event.persisted && location.reload());

// Keys as the person last wanted them: a preference, nothing of the batch.
try {
  keysWanted.checked = localStorage.getItem(KEYS_WANTED) !== "off";
  keysWanted.addEventListener("change", () => localStorage.setItem(KEYS_WANTED, keysWanted.checked ? "on" : "off"));
} catch {
  // No storage: on, as the page came.
}

// Guidance is open where there is room beside the captions.
const wide = matchMedia("(min-width: 64rem)");
const guide = form.querySelector(".guidance");
const fit = () => (guide.open = wide.matches);
wide.addEventListener("change", fit);
fit();
for (const hidden of form.querySelectorAll("[data-needs-script]")) hidden.hidden = false;
openZoom(form, document.getElementById("zoom"));
showProgress();
const begin = firstUnrated();
if (begin && begin !== items[0]) goTo(begin);
else makeCurrent(begin ?? items[0]);
