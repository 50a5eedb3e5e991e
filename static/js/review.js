// The review of a batch: captions are changed where they stand, saved as on screen 2, and sent before the batch is.

import { ActiveTime } from "./active_time.js";
import { CaptionField, faultOf, showFault, showWarnings } from "./caption_field.js";
import { showGone } from "./gone.js";
import { announce } from "./page.js";
import { Kept, draftAt } from "./saver.js";
import { sender } from "./waiting.js";
import { openZoom } from "./zoom.js";

const list = document.getElementById("captions");
const cards = [...list.children];
const submission = document.getElementById("submit");
const confirmation = document.getElementById("confirm");
const part = (name) => document.querySelector(`[data-${name}]`);
const within = (card, name) => card.querySelector(`[data-${name}]`);
const captionOf = (card) => card.querySelector(".caption");
const linkOf = (card) => within(card, "open").querySelector("a");
const cardAt = (position) => cards.find(({ dataset }) => dataset.position === position);

const form = document.getElementById("editor").content.querySelector("form");
const texts = form.dataset;
const field = new CaptionField(form, { time: new ActiveTime(), onEnter: () => open(null), onSaved: showSaved });
// The card whose caption is being changed.
let opened = null;

// Positions of which the server has another text.
const conflicts = new Set();
const sendOthers = sender(() => ({ ...texts, but: opened?.dataset.position }), showSent);

/** What the server has of a card's caption. */
function store(card, text, { revision, warnings, is_autosaved: isAutosaved }) {
  Object.assign(card.dataset, { revision, stored: text });
  card.querySelector("[name=seen]").value = `${card.dataset.position}-${revision}`;
  if (isAutosaved !== undefined) card.toggleAttribute("data-autosaved", isAutosaved);
  if (warnings) card.toggleAttribute("data-copied", warnings.some(({ code }) => code === "copied"));
}

function showSaved(answer, before) {
  store(opened, field.saver.text, { revision: field.saver.revision, ...answer });
  if (before === "offline") sendOthers();
  showWhole();
}

function showSent(position, { outcome, data: answer, found: { text } }) {
  const card = cardAt(position);
  if (outcome === "conflict") conflicts.add(position);
  if (outcome === "gone") leaveOut(position);
  if (outcome !== "saved" || !card || card === opened) return;
  store(card, text, answer);
  showText(card, text, answer.error);
  showWarnings(within(card, "warnings"), answer.warnings);
  showWhole();
}

// Whether an image is no longer this person's: nothing is submitted before they have seen what became of its text.
let isLess = false;

function leaveOut(position) {
  isLess = true;
  showGone(texts);
  const card = cardAt(position);
  if (!card) return;
  cards.splice(cards.indexOf(card), 1);
  card.remove();
  showWhole();
}

let moving = Promise.resolve();

/** Open the field in `card`, or in none, once the caption in which it is open is settled; resolves to whether it was. */
const open = (card) => (moving = moving.then(() => move(card)));

async function move(card) {
  if (card === opened) return true;
  if (opened && !(await leave())) return false;
  if (card) enter(card);
  return true;
}

function enter(card) {
  opened = card;
  const { position, revision, stored, name } = card.dataset;
  texts.position = position;
  texts.draft = draftAt(texts.draft, position);
  texts.autosaved = "autosaved" in card.dataset ? "yes" : "";
  texts.marks = card.dataset.marks ?? "";
  form.setAttribute("aria-label", name);
  form.elements.revision.value = revision;
  form.elements.text.dataset.stored = stored;
  form.elements.text.value = stored;
  captionOf(card).after(form);
  show(card, true);
  field.begin(card);
  field.focus();
  form.scrollIntoView({ block: "nearest" });
}

async function leave() {
  const card = opened;
  // What is typed before it is settled is of this caption, too.
  do {
    if (await field.settle({ confirms: true })) continue;
    field.stay();
    return false;
  } while (field.isTypedOn);
  const hadFocus = form.contains(document.activeElement);
  field.end();
  opened = null;
  delete card.dataset.autosaved;
  showText(card, field.text, field.fault);
  show(card, false);
  if (hadFocus) linkOf(card).focus();
  form.remove();
  showWhole();
  sendOthers();
  return true;
}

function show(card, isOpen) {
  card.classList.toggle("is-open", isOpen);
  captionOf(card).hidden = isOpen;
  within(card, "open").hidden = isOpen;
}

function showText(card, text, fault) {
  const { textChange, textWrite } = list.dataset;
  captionOf(card).textContent = text;
  within(card, "label").textContent = text ? textChange : textWrite;
  showFault(within(card, "error"), fault);
}

/** Show in a card what this device knows better than the page: what it keeps, or has sent since the page was made. */
function showKept(card) {
  if (card === opened) return;
  const kept = new Kept(texts.user, texts.batch, card.dataset.position);
  const later = kept.laterThan(Number(card.dataset.revision));
  if (later) store(card, later.text, { ...later, is_autosaved: later.isAutosaved });
  const newest = kept.newest();
  if (newest) card.toggleAttribute("data-autosaved", !newest.confirms);
  const text = newest?.text ?? card.dataset.stored;
  if (text === captionOf(card).textContent) return;
  showText(card, text, faultOf(text, texts));
  showWarnings(within(card, "warnings"), []);
}

const isFaulty = (card) => within(card, "error").childElementCount > 0;
const isUnconfirmed = (card) => "autosaved" in card.dataset && card !== opened && !isFaulty(card);

/** What the page says of the whole batch: what cannot be submitted yet, what is copied, and whether it can be submitted. */
function showWhole() {
  const faulty = cards.filter(isFaulty);
  const unconfirmed = cards.filter(isUnconfirmed);
  const copied = cards.filter((card) => "copied" in card.dataset);
  for (const card of cards) within(card, "unconfirmed").hidden = !unconfirmed.includes(card);
  listCards(document.getElementById("missing"), faulty);
  listCards(document.getElementById("unconfirmed"), unconfirmed);
  listCards(document.getElementById("copied"), copied);
  const button = submission.querySelector("button");
  const isWaiting = faulty.length + unconfirmed.length > 0;
  button.disabled = isWaiting;
  if (!copied.length) {
    button.textContent = button.dataset.textSubmit;
    submission.elements.copies_seen?.remove();
  }
  part("is-missing").hidden = !isWaiting;
  part("is-complete").hidden = isWaiting;
}

function listCards(notice, of) {
  if (!notice) return;
  notice.hidden = of.length === 0;
  const links = of.map((card) => {
    const link = document.createElement("a");
    return Object.assign(link, { href: linkOf(card).href, textContent: card.dataset.name });
  });
  within(notice, "links").replaceChildren(...links.flatMap((link) => [link, " "]));
}

function say(text) {
  part("said").textContent = text;
  if (text) announce(text);
}

document.getElementById("content").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  const card = link && cards.find((one) => linkOf(one).href === link.href);
  if (!card || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  open(card);
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  open(null);
});

async function sendWhole(event) {
  event.preventDefault();
  say("");
  if (!(await open(null))) return;
  conflicts.clear();
  isLess = false;
  const left = await sendOthers();
  // Which text to keep is asked there.
  const [asked] = conflicts;
  if (asked) return open(cardAt(asked));
  if (isLess) return;
  if (left || !navigator.onLine) return say(list.dataset.textOffline);
  if (event.target === confirmation || !cards.some((card) => isFaulty(card) || isUnconfirmed(card))) event.target.submit();
}

for (const whole of [submission, confirmation]) whole.addEventListener("submit", sendWhole);

// A copy that the browser kept would have stale revisions.
addEventListener("pageshow", (event) => event.persisted && location.reload());

for (const card of cards) card.dataset.stored = captionOf(card).textContent;
openZoom(list, document.getElementById("zoom"));
new Kept(texts.user, texts.batch, "").recover().then(() => {
  cards.forEach(showKept);
  showWhole();
  showGone(texts);
  sendOthers();
});
