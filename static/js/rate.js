// Screen 1: a level for each caption, one key each. Nothing of it is kept on the device, nor left in the page.

import { ActiveTime } from "./active_time.js";
import { AnswerQueue, LET_IT_BE_SEEN_MS } from "./answer_queue.js";
import {
  announce, begun, fetchImages, isDeaf, isUndoKey, onMoved, recall, remember, send, signInLink, tellMoved, turnDeaf,
} from "./page.js";
import { openZoom } from "./zoom.js";

const KEYS_WANTED = "crosslens.rating-keys";
const VIEW_WANTED = "crosslens.rating-view";
const SETTLE_MS = 900;
const STEPS = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };

const form = document.getElementById("rate");
const texts = form.dataset;
const items = [...form.querySelectorAll(".rate__item")];
const time = new ActiveTime();
const openButton = form.elements.open;
const tools = document.getElementById("tools");
const undoButton = document.getElementById("undo");
const about = document.querySelector("[data-about]");
const guide = form.querySelector(".guidance");
const keysWanted = document.getElementById("keys");
const singleWanted = document.getElementById("single");
const guidance = Object.fromEntries([...form.querySelectorAll("[data-level]")].map((line) => [line.dataset.level, line.textContent]));

const radios = (item) => [...item.querySelectorAll("input[type=radio]")];
const ratingOf = (item) => radios(item).find((radio) => radio.checked)?.value ?? "";
const isSingle = () => document.documentElement.dataset.view === "one";
const isRated = (item) => ratingOf(item) !== "";
const firstUnrated = (from = 0) => {
  const order = [...items.slice(from), ...items.slice(0, from)];
  return order.find((item) => !isRated(item)) ?? null;
};

// Which caption the keys and the clock are about.
let current = null;
let settlingUntil = 0;

function makeCurrent(item) {
  if (item === current) return;
  current?.classList.remove("is-current");
  current = item;
  item.classList.add("is-current");
  if (isSingle()) guide.open = false;
  showTools();
  time.look(item.dataset.position);
}

// Where the eyes are, beside the number of the image.
function showTools() {
  undoButton.hidden = !chosen.length;
  for (const button of tools.querySelectorAll("[data-step]")) button.disabled = !neighbour(button);
  current.querySelector(".rate__top").append(tools);
}

const neighbour = ({ dataset }) => items[items.indexOf(current) + Number(dataset.step)];

function goTo(item, { isAtOnce = false, isArrival = false } = {}) {
  settlingUntil = performance.now() + SETTLE_MS;
  makeCurrent(item);
  if (isSingle()) {
    about.open = false;
    // What the page came with is to be read first.
    if (!isArrival) document.querySelector(".messages")?.remove();
  }
  const isStill = isAtOnce || matchMedia("(prefers-reduced-motion: reduce)").matches;
  const levels = item.querySelector(".rate__text");
  // Not a level: there, the keys that scroll elsewhere would be about it.
  item.querySelector(".rate__group").focus({ preventScroll: true });
  if (isSingle()) return scrollTo({ top: 0, behavior: "instant" });
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

// Saving: the newest rating of each caption, in the order of the choices.
const wipe = () => form.querySelectorAll("[data-english]").forEach((caption) => caption.replaceChildren());
const saving = new AnswerQueue(form, tools.querySelector("[data-notice]"), { send: sendRating, saved, refused, wipe });

function save(item) {
  show(item, "saving");
  saving.add(item);
}

async function sendRating(item) {
  const { position } = item.dataset;
  const rating = ratingOf(item);
  const ms = time.take(position);
  const came = await send(item.dataset.save, { rating, active_ms: ms }).catch(() => ({ status: 0 }));
  if (came.status === 200) stored.set(item, rating);
  else time.putBack(position, ms);
  return came;
}

function saved(item) {
  const rating = stored.get(item);
  if (rating === ratingOf(item)) show(item, rating ? "saved" : "undone");
  // An image is gone, and it was the last that waited.
  if (saving.isOutdated && saving.waiting.length === 1) saving.leave(texts.batchUrl);
}

/** Bring back into sight what the server did not take, as it was before. */
function refused(item, said) {
  for (let place = chosen.length; place--; ) if (chosen[place][0] === item) chosen.splice(place, 1);
  setRating(item, stored.get(item));
  turnDeaf();
  goTo(item, { isAtOnce: true });
  show(item, "failed", said);
  announce(said);
}

const TEXTS = { saving: texts.textSaving, saved: texts.textSaved, undone: texts.textUndone };

function show(item, name, said = TEXTS[name]) {
  const state = item.querySelector("[data-state]");
  state.dataset.state = name;
  state.replaceChildren(said);
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
form.addEventListener("click", (event) => event.detail && isDeaf() && event.preventDefault(), { capture: true });
form.addEventListener("pointerdown", (event) => {
  const item = event.target.closest(".rate__item");
  if (item) makeCurrent(item);
});

// Ratings before each choice, so that the choice can be undone; and those that the server has.
const chosen = [];
const known = new Map(items.map((item) => [item, ratingOf(item)]));
const stored = new Map(known);

function choose(item) {
  chosen.push([item, known.get(item)]);
  known.set(item, ratingOf(item));
  item.dataset.rated = "";
  item.classList.remove("is-missing");
  makeCurrent(item);
  showTools();
  showProgress();
  save(item);
  begun(about);
}

function setRating(item, rating) {
  for (const radio of radios(item)) radio.checked = radio.value === rating;
  known.set(item, rating);
  item.toggleAttribute("data-rated", rating !== "");
  hint(item, rating);
  setStop(item);
  showProgress();
}

function undo() {
  const [item, before] = chosen.pop() ?? [];
  if (!item) return;
  setRating(item, before);
  goTo(item, { isAtOnce: true });
  showTools();
  announce(texts.textUndone);
  save(item);
}

undoButton.addEventListener("click", undo);
document.getElementById("start").addEventListener("click", () => {
  begun(about);
  goTo(current);
});
for (const button of tools.querySelectorAll("[data-step]")) {
  button.addEventListener("click", () => goTo(neighbour(button), { isAtOnce: true }));
}

for (const item of items) {
  item.addEventListener("change", (event) => {
    hint(item, event.target.value);
    choose(item);
    turnDeaf(Infinity);
    setTimeout(() => {
      turnDeaf();
      if (current === item && isRated(item)) goOnFrom(item);
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
  if (event.key === "Escape" && isSingle()) guide.open = false;
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
  if (event.submitter?.name === "report") return;
  event.preventDefault();
  if (goToMissing()) return;
  dialog.returnValue = "";
  dialog.showModal();
});

function goToMissing() {
  const missing = firstUnrated();
  if (!missing) return false;
  missing.classList.add("is-missing");
  announce(texts.textMissing);
  goTo(missing);
  return true;
}

dialog.addEventListener("close", () => dialog.returnValue === "open" && openWriting());

const problem = dialog.querySelector("[data-problem]");
const noConnection = problem.textContent;

async function openWriting() {
  openButton.setAttribute("aria-disabled", "true");
  problem.hidden = true;
  await saving.run();
  if (saving.isLeft) return;
  showProgress();
  if (goToMissing()) return;
  const fields = new FormData(form);
  fields.set("open", "1");
  const { status, data } = await send(form.action, fields).catch(() => ({ data: {} }));
  if (status === 200 && data.location) {
    tellMoved(texts.batch);
    return saving.leave(data.location);
  }
  const isSignedOut = status === 401 || status === 403;
  problem.replaceChildren(isSignedOut ? texts.textSignedOut : (data.message ?? noConnection));
  if (isSignedOut) problem.append(" ", signInLink(form, { newTab: true }));
  problem.hidden = false;
  dialog.showModal();
  showProgress();
}

onMoved(texts.batch, () => saving.leave(texts.batchUrl));

// Keys and view as the person last wanted them: preferences, nothing of the batch.
keysWanted.checked = recall(KEYS_WANTED) !== "off";
keysWanted.addEventListener("change", () => remember(KEYS_WANTED, keysWanted.checked ? "on" : "off"));
singleWanted.checked = isSingle();
singleWanted.addEventListener("change", () => {
  document.documentElement.dataset.view = singleWanted.checked ? "one" : "list";
  remember(VIEW_WANTED, document.documentElement.dataset.view);
  fit();
});

// Guidance is open where there is room beside the captions.
const wide = matchMedia("(min-width: 64rem)");
const fit = () => (guide.open = wide.matches && !isSingle());
wide.addEventListener("change", fit);
fit();

/** Fetch the images from here on, then those before. */
function fetchAll() {
  const from = items.indexOf(current);
  fetchImages([...items.slice(from), ...items.slice(0, from)].flatMap((item) => [...item.querySelectorAll("img")]));
}

for (const hidden of document.querySelectorAll("[data-needs-script]")) hidden.hidden = false;
openZoom(form, document.getElementById("zoom"));
showProgress();
const begin = firstUnrated();
if (begin && begin !== items[0]) goTo(begin, { isArrival: true });
else makeCurrent(begin ?? items[0]);
fetchAll();
addEventListener("online", fetchAll);
