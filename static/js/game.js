// One sentence, three guesses, the next sentence. A word that is typed is never lost, and no guess is made twice.

import { countUp, offerSound, play, throwConfetti } from "./cheer.js";
import { Countdown } from "./countdown.js";
import { watchKeyboard } from "./keyboard.js";
import { announce, csrfToken, isDeaf, pause, recall, remember, turnDeaf, waitBeforeAttempt } from "./page.js";

const TIMEOUT_MS = 15_000;
const TOO_SOON = 429;
const NO_ROOM = 507;
const TOO_SOON_MS = 1100;
const SCORING_MS = 5000;
const SCORING_TRIES = 60;
const DRAFT = "crosslens.game-word";
const WITH_A_TURN = [200, 409, 410, 422, 429];

const root = document.getElementById("game");
const turn = document.getElementById("turn");
const guessForm = document.getElementById("guess-form");
const nextForm = document.getElementById("next-form");
const input = document.getElementById("guess");
const texts = root.dataset;

let isBusy = false;
let sentWord = null;
// The next sentence, asked for while the result of this one is read; and the one on screen that the server was not told of yet.
let ahead = null;
let shown = null;
let telling = null;
let scoringTries = 0;

const part = (name) => turn.querySelector(`[data-part="${name}"]`);
const isOpen = () => turn.dataset.state === "open";

// Asking: the answer is the turn as it is now, whatever became of the request.
async function ask(url, fields = null) {
  const body = fields && new URLSearchParams(fields);
  body?.delete("csrfmiddlewaretoken");
  const response = await fetch(url, {
    method: body ? "POST" : "GET",
    body,
    headers: { "HX-Request": "true", ...(body && { "X-CSRFToken": csrfToken() }) },
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return {
    status: response.status,
    isMoved: response.type === "opaqueredirect",
    location: response.headers.get("HX-Redirect"),
    html: await response.text(),
  };
}

/** Ask until an answer comes; too soon is asked once more. */
async function askOn(url, fields) {
  let wasTooSoon = false;
  for (let attempt = 0; ; ) {
    const answer = await ask(url, fields).catch(() => null);
    if (!answer || answer.status === NO_ROOM) {
      say(answer ? texts.textNoRoom : texts.textOffline);
      await Promise.race([pause(waitBeforeAttempt(attempt++)), new Promise((go) => addEventListener("online", go, { once: true }))]);
    } else if (answer.status === TOO_SOON && !wasTooSoon) {
      wasTooSoon = true;
      say(texts.textWaiting);
      await pause(TOO_SOON_MS);
    } else {
      return answer;
    }
  }
}

async function submit(form) {
  if (isBusy) return;
  isBusy = true;
  turn.setAttribute("aria-busy", "true");
  const { url } = turn.dataset;
  const fields = new FormData(form);
  if (shown) await (telling ?? tell());
  // Another turn may have come instead, or no answer: then this is not sent.
  const answer = turn.dataset.url === url && !shown ? await askOn(form.action, fields) : null;
  isBusy = false;
  turn.removeAttribute("aria-busy");
  if (!answer) return;
  say("");
  receive(answer);
}

/** Ask for the next sentence: it waits on the server until it is told that it is shown. */
async function fetchAhead() {
  const { status, html } = await ask(nextForm.dataset.ahead, {});
  const fresh = status === 200 && new DOMParser().parseFromString(html, "text/html").getElementById("turn");
  return fresh ? { turn: fresh, at: performance.now() } : null;
}

/** Show the next sentence at once if this device has it, and tell the server; else ask for it. */
async function goOn() {
  isBusy = true;
  turn.setAttribute("aria-busy", "true");
  const next = await ahead;
  isBusy = false;
  turn.removeAttribute("aria-busy");
  ahead = null;
  if (!next) return submit(nextForm);
  next.turn.dataset.leftS = Math.max(0, Math.round(next.turn.dataset.leftS - (performance.now() - next.at) / 1000));
  shown = { url: next.turn.dataset.url, at: performance.now() };
  adopt(next.turn, { isAhead: true });
  tell();
}

/** Tell the server which sentence is shown and since when; the answer is nothing, or the turn that is on by now. */
function tell() {
  const { url, at } = shown;
  const fields = {
    shown: url.split("/").at(-2),
    get shown_ms() {
      return Math.round(performance.now() - at);
    },
  };
  telling = askOn(nextForm.action, fields).then((answer) => {
    telling = null;
    say("");
    if (answer.status === 204) {
      shown = null;
      return history.replaceState(null, "", url);
    }
    receive(answer);
  });
  return telling;
}

function receive({ status, isMoved, location: elsewhere, html }) {
  if (elsewhere) return leave(elsewhere);
  // Signed out: the page itself leads to where one signs in and back; the word waits in this tab.
  if (isMoved || status === 401 || status === 403) return location.reload();
  const fresh = WITH_A_TURN.includes(status) && new DOMParser().parseFromString(html, "text/html").getElementById("turn");
  if (fresh) return adopt(fresh, { keepsWord: status === 422 || status === TOO_SOON });
  part("guesses").querySelector(".is-sent")?.remove();
  adoptForms(turn.dataset.state === "open");
  say(texts.textFailed);
}

/** The guess is in its list before it is scored; the answer takes its place. */
function showSent(word) {
  const row = document.createElement("li");
  const text = Object.assign(document.createElement("span"), { className: "guess__word", textContent: word, lang: input.lang, dir: "auto" });
  const bar = Object.assign(document.createElement("progress"), { className: "guess__bar", max: 100 });
  row.className = "guess is-sent";
  row.ariaHidden = "true";
  row.append(text, bar);
  part("guesses").querySelector("ol").append(row);
  showLine();
}

function leave(where) {
  forgetDraft();
  turnDeaf(Infinity);
  location.assign(where);
}

function say(text) {
  turn.querySelector("[data-state-line]").textContent = text;
}

// The new state takes the place of the old part by part: the field stays, and with it the keyboard of a phone.
function adopt(fresh, { keepsWord = false, isAhead = false } = {}) {
  const before = { ...turn.dataset, total: Number(total()?.dataset.total ?? 0) };
  const isNew = fresh.dataset.url !== turn.dataset.url;
  const focused = document.activeElement;
  copyAttributes(fresh, turn);
  for (const now of fresh.querySelectorAll("[data-part]")) {
    const old = part(now.dataset.part);
    if (now.dataset.part === "hints") keepPictures(old, now);
    if (!isNew) keepReason(old, now);
    copyAttributes(now, old);
    if (old.innerHTML !== now.innerHTML) old.replaceChildren(...now.childNodes);
  }
  for (const form of [guessForm, nextForm]) copyAttributes(fresh.querySelector(`#${form.id}`), form);
  guessForm.elements.number.value = fresh.querySelector("[name=number]").value;
  copyAttributes(fresh.querySelector("#guess"), input);
  nextForm.querySelector("button").textContent = fresh.querySelector("#next-form button").textContent;
  // Whoever types on while a guess is on its way is typing the next one.
  const hasTypedOn = input.value !== sentWord;
  sentWord = null;
  if (!keepsWord && !hasTypedOn) {
    input.value = "";
    // Typed while the server had not been told of this sentence; then the page was loaded anew, and showed the one before.
    if (isNew) bringDraft();
    if (!input.value) forgetDraft();
  }
  // The address of a sentence fetched ahead shows nothing before the server knows that it is shown.
  if (!isAhead) {
    shown = null;
    history.replaceState(null, "", turn.dataset.url);
  }
  begin();
  if (focused?.closest("[data-skip]") && focused.isConnected) focused.focus({ preventScroll: true });
  else place({ isNew, isOver: before.state === "open" && !isOpen(), isWordBack: keepsWord && !hasTypedOn });
  cheer(before, { isNew });
  const told = part("told").textContent.trim();
  announce([told, part("say").textContent.trim()].filter(Boolean).join(" "));
}

const total = () => turn.querySelector("[data-total]");

function copyAttributes(from, to) {
  for (const { name } of [...to.attributes]) if (!from.hasAttribute(name)) to.removeAttribute(name);
  for (const { name, value } of from.attributes) if (to.getAttribute(name) !== value) to.setAttribute(name, value);
}

function keepPictures(old, now) {
  const known = new Map([...old.querySelectorAll("img")].map((image) => [image.getAttribute("src"), image]));
  for (const image of now.querySelectorAll("img")) {
    const same = known.get(image.getAttribute("src"));
    if (!same) {
      image.classList.add("is-new");
      continue;
    }
    copyAttributes(image, same);
    image.replaceWith(same);
  }
}

/** Why a sentence is to be skipped is still being said when an answer about it comes. */
function keepReason(old, now) {
  const reason = old.querySelector("[data-skip][open]");
  if (reason) now.querySelector("[data-skip]")?.replaceWith(reason);
}

function place({ isNew, isOver, isWordBack }) {
  if (isOpen()) {
    input.focus({ preventScroll: true });
    if (isWordBack) input.select();
    if (isNew) scrollTo({ top: 0, behavior: "instant" });
    else showLine();
  } else if (!nextForm.hidden) {
    if (isOver) turnDeaf();
    nextForm.querySelector("button").focus({ preventScroll: true });
    scrollTo({ top: 0, behavior: "instant" });
  } else {
    document.activeElement?.blur();
  }
}

/** With a keyboard over half of the window, the sentence goes to its top. */
function showLine() {
  if (document.documentElement.classList.contains("has-keyboard")) scrollTo({ top: turn.offsetTop, behavior: "instant" });
}

function cheer(before, { isNew }) {
  if (total()) countUp(total(), before.total, Number(total().dataset.total));
  const guesses = Number(turn.dataset.guesses);
  if (isNew || guesses <= Number(before.guesses)) return;
  const last = turn.querySelector(".guess:last-child");
  last.classList.add("is-new");
  fill(last.querySelector("progress"));
  if (turn.dataset.state === "found") {
    throwConfetti(turn.querySelector(".gap"));
    play("found");
  } else {
    play(turn.dataset.state === "missed" ? "over" : turn.dataset.near ? "near" : "far");
  }
}

/** From empty: the sheet makes it run. */
function fill(bar) {
  const { value } = bar;
  bar.value = 0;
  requestAnimationFrame(() => requestAnimationFrame(() => (bar.value = value)));
}

function begin() {
  mirror();
  for (const link of turn.querySelectorAll("[data-hint]:not([role])")) {
    link.setAttribute("role", "button");
    link.setAttribute("aria-pressed", "false");
    link.setAttribute("aria-label", `${link.querySelector("img").alt}, ${texts.textEnlarge}`);
  }
  if (isOpen()) countdown.set(Number(turn.dataset.leftS));
  else countdown.stop();
  if (!isOpen() && !nextForm.hidden) ahead ??= fetchAhead().catch(() => null);
  if (turn.dataset.state === "stopped" && scoringTries++ < SCORING_TRIES) setTimeout(refresh, SCORING_MS);
}

async function refresh() {
  if (isBusy) return setTimeout(refresh, 1000);
  const answer = await ask(turn.dataset.url).catch(() => null);
  if (answer?.status === 200) receive(answer);
  else setTimeout(refresh, SCORING_MS);
}

const countdown = new Countdown({
  show: (left) => {
    const line = part("left");
    line.hidden = left === null;
    if (left !== null) line.querySelector("[data-left]").textContent = texts.textLeft.replace("{time}", left);
  },
  end: refresh,
});

// The word stands in the gap while it is typed, and waits in this tab while it is not taken.
function mirror() {
  const typed = turn.querySelector("[data-typed]");
  if (typed) typed.textContent = input.value;
}

const keepDraft = () => remember(DRAFT, JSON.stringify([turn.dataset.url, input.value]), "sessionStorage");
const forgetDraft = () => remember(DRAFT, "[]", "sessionStorage");

function bringDraft() {
  const [url, word] = JSON.parse(recall(DRAFT, "sessionStorage") ?? "[]");
  if (url === turn.dataset.url && isOpen() && !input.value) input.value = word;
}

function adoptForms(isGuessing) {
  guessForm.hidden = !isGuessing;
  nextForm.hidden = isGuessing;
}

root.addEventListener("submit", (event) => {
  if (event.submitter?.name === "report") return;
  event.preventDefault();
  if (isBusy || isDeaf()) return;
  if (event.target === guessForm && !input.value.trim()) return input.focus();
  if (event.target === nextForm) {
    // A phone opens its keyboard only for a field that gets the focus within the tap itself.
    adoptForms(true);
    input.value = "";
    input.focus({ preventScroll: true });
  } else {
    // What is typed before the answer comes takes its place.
    input.select();
  }
  sentWord = input.value;
  if (event.target === nextForm) return goOn();
  if (event.target === guessForm) showSent(sentWord);
  submit(event.target);
});

input.addEventListener("input", () => {
  mirror();
  keepDraft();
  say("");
});
input.addEventListener("focus", () => setTimeout(showLine, 300));

root.addEventListener("click", (event) => {
  const link = event.target.closest("[data-hint]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const isLarge = link.closest(".hint").classList.toggle("is-large");
  link.setAttribute("aria-pressed", isLarge);
});

// Pressing these must not take the focus from the field: the keyboard would close.
root.addEventListener("mousedown", (event) => {
  if (isOpen() && event.target.closest(".bar__go, [data-hint]")) event.preventDefault();
});

addEventListener("keydown", (event) => {
  if (!event.key || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  const skip = turn.querySelector("[data-skip]");
  if (event.key === "Escape" && skip?.open) {
    skip.open = false;
    return input.focus();
  }
  if (event.key === " " && event.target.matches?.("[data-hint]")) {
    event.preventDefault();
    return event.target.click();
  }
  // Enter held down on a guess must not go on to the next sentence.
  if (event.key === "Enter" && (event.repeat || isDeaf())) return event.preventDefault();
  if (event.target !== document.body && event.target !== turn) return;
  if (event.key === "Enter" && !nextForm.hidden) nextForm.requestSubmit();
  else if (isOpen() && event.key.length === 1) input.focus();
});

// The event does not rise to the root: it is caught on its way down. It comes late: somebody quick is in a field by then.
root.addEventListener(
  "toggle",
  ({ target }) => {
    if (target.matches("[data-skip]") && target.open && !document.activeElement.closest("[data-skip-form]"))
      target.querySelector("[name=reason]").focus();
  },
  true,
);

// Not kept in the history: the turn may be over by the time one comes back.
addEventListener("pageshow", (event) => event.persisted && location.reload());

watchKeyboard();
offerSound(document.getElementById("sound"));
bringDraft();
begin();
if (isOpen()) input.focus({ preventScroll: true });
else if (!nextForm.hidden) nextForm.querySelector("button").focus({ preventScroll: true });
