// Screen 2: one image, one caption, and turning from image to image.

import { ActiveTime } from "./active_time.js";
import { CaptionField } from "./caption_field.js";
import { keepBatch } from "./offline.js";
import { showGone } from "./gone.js";
import { announce, isDeaf, tellMoved, turnDeaf } from "./page.js";
import { Kept } from "./saver.js";
import { fetchAhead, isAhead, isLikeThisOne, isOld, keepAhead, pageAt, pageHere, read, revisionOf, swap } from "./turn.js";
import { sender } from "./waiting.js";
import { openZoom } from "./zoom.js";

const form = document.getElementById("write");
const texts = form.dataset;
const steps = document.querySelector(".steps");
const links = [...steps.querySelectorAll("a")];
const figure = document.querySelector(".write__figure");
const part = (name) => document.querySelector(`[data-${name}]`);

const field = new CaptionField(form, { time: new ActiveTime(), onEnter: () => goOn(), onSaved: showSaved });

const REST_MS = 1000;

// The pages of images, by their position in the address.
const pathOf = (url) => new URL(url, location).pathname;
const positionOf = (url) => /\/(\d+)\/$/.exec(pathOf(url))[1];
const here = () => steps.querySelector("[aria-current]");
const isHere = (url) => pathOf(url) === here().pathname;

function markWritten(step, { text, isAutosaved }) {
  const isWritten = text.trim() !== "" && !isAutosaved;
  step.classList.toggle("is-done", isWritten);
  step.querySelector("[data-written]").hidden = !isWritten;
}

const countWritten = () => (part("written-count").textContent = steps.querySelectorAll(".is-done").length);

function showSaved(_answer, before) {
  markWritten(here(), field.saver);
  countWritten();
  if (before === "offline") sendOthers();
}

/** Mark images as written that this device knows to be. */
function markKept() {
  for (const step of links) {
    const last = new Kept(texts.user, texts.batch, positionOf(step.href)).last;
    if (last) markWritten(step, last);
  }
  countWritten();
}

// A save that follows the person to the next image brings the page of the one after it.
const sendOthers = sender(() => ({ ...texts, but: texts.position, ahead: aheadWanted() }), hear);
const aheadWanted = () => (texts.following && !isAhead(texts.following) ? positionOf(texts.following) : "");

function hear(position, { outcome, data, found }) {
  if (outcome === "offline" || outcome === "signed-out") return field.tell(outcome, data);
  if (outcome === "gone") return showGone(texts);
  if (outcome !== "saved") return bringBack(position);
  if (data.ahead) keepAhead(data.ahead);
  if (found.confirms && data.error) bringBack(position, data.error);
  if (["offline", "signed-out"].includes(field.state)) field.saver.flush({ withTime: true });
}

let turning = null;

/** Save, then go to an image or to the review. A second tap meanwhile does nothing. */
const goTo = (where, how) => (turning ??= turn(leave(pathOf(where), how)));

async function turn(leaving) {
  try {
    await leaving;
  } finally {
    turning = null;
  }
  isMending = false;
  comeBack();
}

// Images of which the server did not take the text, with what it says against it.
const refused = new Map();
let isMending = false;
let restsAt = 0;

function bringBack(position, fault = "") {
  refused.set(position, fault);
  comeBack();
}

/** Go back to an image that was refused, once nobody is typing: what is typed for this one must not get into that. */
async function comeBack() {
  while (turning) await turning;
  if (isMending || !refused.size) return;
  if (performance.now() < restsAt) return setTimeout(comeBack, REST_MS);
  const [[position, fault]] = refused;
  refused.delete(position);
  turning = turnBack(links.find(({ href }) => positionOf(href) === position).pathname, fault).finally(() => (turning = null));
}

async function turnBack(path, fault) {
  isMending = true;
  if (!isHere(path)) await turnTo(path, pageHere(path).then((page) => page ?? pageAt(path)), { isSaved: true });
  if (fault) field.refuse(fault);
  field.focus();
}

// Only this confirms a caption, and only a caption leads to the next image; to any image one can go by its number.
const goOn = () => (isDeaf() && !field.saver.isDirty) || goTo(texts.following ?? texts.review, { confirms: true });

// Back and Forward have changed the address already.
async function follow() {
  while (turning) await turning;
  if (!isHere(location)) goTo(location, { isFollowing: true });
}

async function leave(path, { confirms = false, isFollowing = false } = {}) {
  const isReview = path === texts.review;
  if (confirms && !isReview && field.fault) {
    field.showFault();
    return stay();
  }
  const following = isReview || isHere(path) ? null : pageHere(path);
  const coming = following?.then((page) => page ?? pageAt(path));
  coming?.catch(() => {});
  const settled = await field.settle({ confirms, following });
  // The browser's own Back was never stopped by a text that cannot be saved: it stays on this device.
  if (!settled && !(isFollowing && field.saver.isKept)) return stay();
  if (confirms && !isReview && field.fault) {
    field.showFault();
    return stay();
  }
  // The review says what became of the text of an image that is gone.
  if (isReview) return settled === "saved" || field.state === "gone" ? review() : stay(texts.textLater);
  if (!coming) return field.stay();
  await turnTo(path, coming, { isSaved: settled === "saved", isFollowing });
  if (confirms) turnDeaf();
}

/** Go to the report, once the text is on the server, or on this device where it cannot be saved. */
async function report() {
  const isSettled = await field.settle();
  // What is typed until the report is there is of this image, too.
  field.stay();
  if (isSettled || field.saver.isKept) location.assign(texts.report);
  else stay(texts.textStay);
}

async function review() {
  if (!(await sendOthers())) return location.assign(texts.review);
  // The page of an image that was refused asks what to do.
  return refused.size ? field.stay() : stay(texts.textLater);
}

function stay(why = "") {
  if (!isHere(location)) history.pushState(null, "", here().href);
  part("said").textContent = why;
  if (why) announce(why);
  field.stay();
}

/** Show the image at `path` as soon as its page is there; or load that page, if it is not what was expected. */
async function turnTo(path, coming, { isSaved, isFollowing = false }) {
  let page;
  try {
    page = await coming;
  } catch {
    return isSaved ? location.assign(path) : stay(texts.textStay);
  }
  if (!page) return location.assign(path);
  if (!isFollowing) history.pushState(null, "", path);
  show(page);
}

function show(page) {
  const hadFocus = field.hasFocus;
  const typedOn = field.end();
  swap(page);
  part("said").textContent = "";
  announce(texts.name);
  field.begin(form, typedOn);
  arrive(hadFocus);
  markKept();
  // Most often it comes with the text that was left.
  sendOthers(field.wayOfLast).then(() => fetchAhead(texts.following));
  if (isOld(page)) freshen(page.url);
}

/** Put the focus into the field, save where that would bring up a keyboard on the screen. */
function arrive(hadFocus) {
  const current = here();
  steps.scrollBy(current.getBoundingClientRect().left - steps.getBoundingClientRect().left - steps.clientWidth / 2, 0);
  if (figure.getBoundingClientRect().top < 0) figure.scrollIntoView();
  if (hadFocus || field.hasError || matchMedia("(pointer: fine)").matches) field.focus();
}

/** Take what was changed elsewhere since the page was fetched, unless the text is being changed here. */
async function freshen(path) {
  const page = await read(path).catch(() => null);
  if (!page || turning || !isHere(path) || field.saver.isDirty || field.saver.conflict) return;
  if (revisionOf(page) <= field.saver.revision && !figure.querySelector(".waiting")) return;
  field.end();
  swap(page);
  field.begin();
  markKept();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const go = event.submitter?.value ?? "following";
  if (event.submitter?.name === "report") turning ??= report().finally(() => (turning = null));
  else if (["following", "finish"].includes(go)) goOn();
  else goTo(texts[go]);
});

steps.addEventListener("click", (event) => {
  const step = event.target.closest("a");
  if (!step || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  goTo(step.href);
});

// A button or link that is pressed would take the focus from the field, and the keyboard off a phone's screen.
for (const presses of [steps, form.querySelector(".write__actions"), figure]) {
  presses.addEventListener("mousedown", (event) => {
    if (field.hasFocus && (presses !== figure || event.target.name === "report")) event.preventDefault();
  });
}

document.querySelector(".write").addEventListener("keydown", (event) => {
  const isBack = event.key === "ArrowUp" && texts.previous;
  if (!event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
  if (event.repeat || !(isBack || event.key === "ArrowDown")) return;
  event.preventDefault();
  if (isBack) goTo(texts.previous);
  else goOn();
});

form.elements.text.addEventListener("input", () => (part("said").textContent = ""));
const rest = () => (restsAt = performance.now() + REST_MS);
for (const sign of ["keydown", "input", "compositionend"]) form.elements.text.addEventListener(sign, rest);
form.elements.text.addEventListener("compositionstart", () => (restsAt = Infinity));

// Swiping the image leads to the one beside it, in the direction of the page.
const FARTHEST_ASIDE = 40;
const SHORTEST_SWIPE = 60;
let began = null;
figure.addEventListener("touchstart", ({ touches }) => (began = touches.length === 1 ? touches[0] : null), { passive: true });
figure.addEventListener("touchend", ({ changedTouches: [ended] }) => {
  if (!began || Math.abs(ended.clientY - began.clientY) > FARTHEST_ASIDE) return;
  const moved = (ended.clientX - began.clientX) * (document.dir === "rtl" ? -1 : 1);
  if (moved < -SHORTEST_SWIPE) goOn();
  if (moved > SHORTEST_SWIPE && texts.previous) goTo(texts.previous);
});

addEventListener("popstate", follow);
// A copy that the browser kept would have a stale revision.
addEventListener("pageshow", (event) => event.persisted && location.reload());

async function keep() {
  const count = await keepBatch({ ...texts, urls: links.map(({ href }) => href), isLikeThisOne });
  part("kept").hidden = count < links.length;
}

const recovering = new Kept(texts.user, texts.batch, texts.position).recover();
field.begin();
arrive(false);
markKept();
recovering.then(() => {
  field.restore();
  markKept();
  showGone(texts);
  sendOthers();
});
// After what this page needs itself.
addEventListener("load", () => {
  fetchAhead(texts.following);
  keep().catch(() => {});
});
tellMoved(texts.batch);
openZoom(document.body, document.getElementById("zoom"));
