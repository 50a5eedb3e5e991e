// Screen 2: one image, one caption, saved as it is typed.

import { ActiveTime } from "./active_time.js";
import { isPageKept, keepBatch } from "./offline.js";
import { announce, signInLink, tellMoved } from "./page.js";
import { Kept, Saver, sendWaiting } from "./saver.js";
import { openZoom } from "./zoom.js";

const LONGEST = 1000;
const COUNT_FROM = 900;
// Safari ends a composition before it tells of the Enter that ended it.
const AFTER_COMPOSITION_MS = 100;

const form = document.getElementById("write");
const field = form.elements.text;
const texts = form.dataset;
const part = (name) => document.querySelector(`[data-${name}]`);
const state = part("state");
const counter = part("counter");
const conflict = part("conflict");
const steps = document.querySelector(".steps");

const time = new ActiveTime();
time.look("caption");
const kept = new Kept(texts.user, texts.batch, texts.position);
const recovering = kept.recover();
const isSentBack = field.value.replaceAll("\r\n", "\n") !== field.dataset.stored.replaceAll("\r\n", "\n");
// A page that was kept on this device, or on its way already, has an older text than the server.
const later = isSentBack ? null : kept.laterThan(Number(form.elements.revision.value));
if (later) field.value = later.text;
const saver = new Saver({
  url: texts.draft,
  revision: later?.revision ?? Number(form.elements.revision.value),
  text: later?.text ?? field.dataset.stored.replaceAll("\r\n", "\n"),
  kept,
  time: { take: () => time.take("caption"), putBack: (ms) => time.putBack("caption", ms) },
  show,
});

let shown = "saved";

function show(name, details = {}) {
  const said = {
    saving: texts.textSaving,
    saved: texts.textSaved,
    offline: details.message ?? (saver.isKept ? texts.textOffline : texts.textOfflineUnkept),
    "signed-out": saver.isKept ? texts.textSignedOut : details.message,
    conflict: texts.textConflict,
    closed: details.message,
    refused: details.message,
    failed: texts.textFailed,
  }[name] ?? texts.textFailed;
  // Said again, it is left as it is: its link may have the focus.
  if (state.dataset.state !== name || state.firstChild?.textContent !== said) {
    state.dataset.state = name;
    state.replaceChildren(said);
    if (name === "signed-out") state.append(" ", signInLink(form));
    if (name === "closed" && details.location) state.append(" ", link(details.location, texts.textClosedLink));
  }
  conflict.hidden = name !== "conflict";
  if (name === "conflict") {
    part("conflict-stored").textContent = details.text || "–";
    part("conflict-mine").textContent = saver.text || "–";
  }
  if (name === "saved" && details.warnings) showAnswer(details);
  if (name === "saving") return;
  if (name === "saved" && shown === "offline") sendOthers();
  if (name !== shown) announce(said);
  shown = name;
}

function link(href, text) {
  return Object.assign(document.createElement("a"), { href, textContent: text });
}

function showAnswer({ warnings, written }) {
  const lines = warnings.map(({ message }) => Object.assign(document.createElement("li"), { textContent: message }));
  const list = part("warnings");
  const before = [...list.children].map((line) => line.textContent).join("\n");
  if (before !== warnings.map(({ message }) => message).join("\n")) list.replaceChildren(...lines);
  part("written-count").textContent = written;
  const step = steps.querySelector("[aria-current]");
  const isWritten = saver.text.trim() !== "";
  step.classList.toggle("is-done", isWritten);
  step.querySelector("[data-written]").hidden = !isWritten;
}

const lengthNow = () => [...field.value.trim().normalize("NFC")].length;

function takeBackError() {
  error.remove();
  field.removeAttribute("aria-invalid");
  field.setAttribute("aria-describedby", "how");
}

function count() {
  const length = lengthNow();
  counter.hidden = length < COUNT_FROM;
  const isOver = length > LONGEST;
  counter.dataset.state = isOver ? "refused" : "";
  counter.textContent = isOver ? `${texts.textOver} ${length - LONGEST}` : `${texts.textLeft} ${LONGEST - length}`;
}

async function goTo(where) {
  if (!(await saver.flush({ withTime: true }))) {
    const isWritten = lengthNow() > 0 && lengthNow() <= LONGEST;
    if (shown === "offline" && saver.isKept && (isWritten || where !== texts.following) && (await isPageKept(where))) {
      saver.keepTime();
      return location.assign(where);
    }
    if (shown === "offline") announce(where === texts.review ? texts.textLater : texts.textStay);
    field.focus();
    return;
  }
  const { left, conflicts } = where === texts.review ? await sendOthers() : { left: 0 };
  // The page of that image asks which text to keep.
  if (left && conflicts.length) return location.assign(links.find(({ href }) => positionOf(href) === conflicts[0]).href);
  if (left) return announce(texts.textLater);
  if (where === texts.following && (lengthNow() === 0 || lengthNow() > LONGEST)) {
    // The server says what is wrong.
    return location.replace("?unfinished");
  }
  location.assign(where);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  goTo(texts[event.submitter?.value ?? "following"] ?? texts.review);
});

steps.addEventListener("click", (event) => {
  const step = event.target.closest("a");
  if (!step || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  goTo(step.href);
});

// Swiping the image leads to the one beside it, in the direction of the page.
const FARTHEST_ASIDE = 40;
const SHORTEST_SWIPE = 60;
const figure = document.querySelector(".write__figure");
let began = null;
figure.addEventListener("touchstart", ({ touches }) => (began = touches.length === 1 ? touches[0] : null), { passive: true });
figure.addEventListener("touchend", ({ changedTouches: [ended] }) => {
  if (!began || Math.abs(ended.clientY - began.clientY) > FARTHEST_ASIDE) return;
  const moved = (ended.clientX - began.clientX) * (document.dir === "rtl" ? -1 : 1);
  if (moved < -SHORTEST_SWIPE) goTo(texts.following ?? texts.review);
  if (moved > SHORTEST_SWIPE && texts.previous) goTo(texts.previous);
});

const error = document.getElementById("error");
// Browsers that do not size fields by their text.
const grow = () => {
  if (CSS.supports("field-sizing", "content")) return;
  field.style.blockSize = "auto";
  field.style.blockSize = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
};
field.addEventListener("input", () => {
  grow();
  saver.change(field.value);
  count();
  if (error && !isSentBack && lengthNow() > 0 && lengthNow() <= LONGEST) takeBackError();
});
field.addEventListener("blur", () => saver.isDirty && saver.flush());

// Enter goes on, but the Enter that ends a composition only ends it.
let isComposing = false;
let composedAt = -Infinity;
field.addEventListener("compositionstart", () => (isComposing = true));
field.addEventListener("compositionend", () => {
  isComposing = false;
  composedAt = performance.now();
});
const isOfComposition = (event) =>
  event.isComposing || isComposing || event.keyCode === 229 || performance.now() - composedAt < AFTER_COMPOSITION_MS;
let isShifted = false;

field.addEventListener("keydown", (event) => {
  isShifted = event.shiftKey;
  if (event.key !== "Enter" || isShifted || event.altKey || isOfComposition(event)) return;
  event.preventDefault();
  if (!event.repeat) goTo(texts.following ?? texts.review);
});
// Keyboards on a screen may tell of no key at all, only of the line break they are about to make.
field.addEventListener("beforeinput", (event) => {
  if (isShifted || !["insertLineBreak", "insertParagraph"].includes(event.inputType)) return;
  event.preventDefault();
  if (!isOfComposition(event)) goTo(texts.following ?? texts.review);
});

conflict.addEventListener("click", (event) => {
  const choice = event.target.closest("[data-keep]")?.dataset.keep;
  if (choice === "mine") saver.keepMine();
  if (choice === "stored") {
    saver.takeStored();
    field.value = saver.text;
  }
  if (choice) {
    count();
    field.focus();
  }
});

// A copy that the browser kept would have a stale revision.
addEventListener("pageshow", (event) => event.persisted && location.reload());

function restore() {
  const restored = saver.restore();
  if (restored === null) return;
  field.value = restored;
  count();
  announce(texts.textRestored);
}

// The pages of other images, by their position in the address.
const links = [...steps.querySelectorAll("a")];
const positionOf = (url) => /\/(\d+)\/$/.exec(new URL(url, location).pathname)[1];

let sending = null;

/** Send what waits on this device for other images; resolves as `sendWaiting` does. */
const sendOthers = () => (sending ??= sendThem().finally(() => (sending = null)));

async function sendThem() {
  const urlOf = (position) => texts.draft.replace(/\/\d+\/draft\/$/, `/${position}/draft/`);
  const found = await sendWaiting({ user: texts.user, batch: texts.batch, but: texts.position, urlOf });
  const line = part("waiting");
  line.hidden = found.left === 0;
  line.querySelector("b").textContent = found.left;
  return found;
}

/** Mark images as written that this device knows to be, on a page that was kept before. */
function markWritten() {
  for (const step of links) {
    const text = new Kept(texts.user, texts.batch, positionOf(step.href)).lastText;
    if (text === null) continue;
    step.classList.toggle("is-done", text.trim() !== "");
    step.querySelector("[data-written]").hidden = text.trim() === "";
  }
  part("written-count").textContent = steps.querySelectorAll(".is-done").length;
}

async function keep() {
  const count = await keepBatch({ ...texts, urls: links.map(({ href }) => href) });
  if (count < links.length) return;
  part("kept").hidden = false;
}

if (!isSentBack) {
  restore();
  recovering.then(() => saver.isDirty || saver.conflict || restore());
}
tellMoved(texts.batch);
grow();
markWritten();
addEventListener("online", sendOthers);
recovering.then(() => {
  markWritten();
  sendOthers();
});
// After what this page needs itself.
addEventListener("load", () => keep().catch(() => {}));
count();
const here = steps.querySelector("[aria-current]");
steps.scrollBy(here.getBoundingClientRect().left - steps.getBoundingClientRect().left - steps.clientWidth / 2, 0);
error?.querySelector("[data-take-stored]")?.addEventListener("click", () => kept.clear());
if (document.getElementById("zoom")) openZoom(document.body, document.getElementById("zoom"));
if (matchMedia("(pointer: fine)").matches || error) field.focus({ preventScroll: true });
field.setSelectionRange(field.value.length, field.value.length);
