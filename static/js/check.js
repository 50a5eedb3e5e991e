// Looking through captions with the keyboard. Everything is a form of the page; the keys only press its buttons.

import { announce, recall, remember } from "./page.js";

const KEYS_WANTED = "crosslens.check-keys";
const keysWanted = document.getElementById("keys");

const rows = () => [...document.querySelectorAll("[data-row]")];
let current = location.hash.slice(1) || rows()[0]?.id;

const row = () => document.getElementById(current) ?? rows()[0];

function mark() {
  for (const marked of document.querySelectorAll(".check__row.is-current")) marked.classList.remove("is-current");
  row()?.classList.add("is-current");
}

function goTo(there) {
  current = there.id;
  mark();
  there.focus({ preventScroll: true });
  // With its image, where both fit.
  const card = there.closest(".check__image");
  const whole = card.offsetHeight < innerHeight * 0.95 ? card : there;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  whole.scrollIntoView({ block: "nearest", behavior: isStill ? "instant" : "smooth" });
}

function step(by) {
  const all = rows();
  const there = all[all.indexOf(row()) + by];
  if (there) return goTo(there);
  document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
}

function write(doing) {
  const details = row()?.querySelector(`details[data-doing="${doing}"]`);
  if (!details) return;
  details.open = true;
  details.querySelector("textarea").focus();
}

const actions = {
  j: () => step(1),
  k: () => step(-1),
  f: () => write("f"),
  b: () => write("b"),
};

function press(key) {
  if (actions[key]) return actions[key](), true;
  const button = row()?.querySelector(`button[data-key="${key}"]`);
  button?.click();
  return Boolean(button);
}

// Where the keyboard writes another script, the place of the key counts.
const nameOf = (event) => {
  const typed = event.key.toLowerCase();
  return /^[a-z0-9]$/.test(typed) ? typed : event.code.replace(/^(Key|Digit|Numpad)/, "").toLowerCase();
};

addEventListener("keydown", (event) => {
  const field = event.target.matches?.("textarea, select, input:not([type=checkbox])");
  if (event.key === "Escape" && event.target.matches?.("textarea")) return goTo(event.target.closest(".check__row") ?? row());
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches?.("textarea")) return event.target.form.requestSubmit();
  if (field || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (!keysWanted?.checked) return;
  if (press(nameOf(event))) event.preventDefault();
});

const follow = (event) => {
  const there = event.target.closest?.(".check__row");
  if (!there) return;
  current = there.id;
  mark();
};
addEventListener("focusin", follow);
addEventListener("pointerdown", follow);

// Each answer replaces all forms of its caption: what is pressed meanwhile waits for it.
const queues = new Map();

addEventListener(
  "submit",
  (event) => {
    const queue = queues.get(event.target.closest?.(".check__row")?.id);
    if (!queue) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const key = event.submitter?.dataset.key;
    const doing = event.target.closest("details")?.dataset.doing;
    const button = key ? `button[data-key="${key}"]` : `details[data-doing="${doing}"] button[type=submit]`;
    // Pressed twice, a text is sent once.
    if (key || !queue.includes(button)) queue.push(button);
  },
  { capture: true },
);

document.body.addEventListener("htmx:beforeRequest", ({ detail: { target } }) => {
  if (target.matches(".check__row")) queues.set(target.id, []);
});

function sendWaiting(row) {
  const [next, ...later] = queues.get(row.id) ?? [];
  queues.delete(row.id);
  if (!next) return;
  row.querySelector(next)?.click();
  queues.get(row.id)?.push(...later);
}

// What is being written in a form of a caption while an answer is on the way; not what was sent.
const unsent = new Map();

document.body.addEventListener("htmx:beforeSwap", ({ detail: { target, requestConfig } }) => {
  const { elt: form, parameters } = requestConfig;
  const isUnsent = (area) => area.value && !(form.contains(area) && area.value === parameters[area.name]);
  const kept = [...target.querySelectorAll("details textarea")].filter(isUnsent).map((area) => {
    const { dataset, open } = area.closest("details");
    return { doing: dataset.doing, open, text: area.value, isFocused: area === document.activeElement };
  });
  unsent.set(target.id, kept);
});

// What was swapped in is the same caption: the keys stay with it, and so does the focus, unless something was refused.
// Sooner than when it has settled its class would be put back to what the server sent.
document.body.addEventListener("htmx:afterSettle", ({ target }) => {
  mark();
  let writing = null;
  for (const { doing, open, text, isFocused } of unsent.get(target.id) ?? []) {
    const details = target.querySelector(`details[data-doing="${doing}"]`);
    if (!details) continue;
    details.open = open;
    const area = details.querySelector("textarea");
    area.value = text;
    if (isFocused) writing = area;
  }
  unsent.delete(target.id);
  // Who has gone on to another caption stays there: keys pressed while writing would otherwise rate.
  if (target === row()) (target.querySelector("textarea[aria-invalid=true]") ?? writing ?? target).focus({ preventScroll: true });
  sendWaiting(target);
});

// A full disk, a server that is away: nothing is swapped, so the row says it until something of it is saved.
function tellFailed({ detail: { target } }) {
  const said = target.querySelector(".check__failed") ?? document.createElement("p");
  said.className = "check__failed notice notice--error";
  said.textContent = document.querySelector(".check").dataset.textFailed;
  target.append(said);
  announce(said.textContent);
  // Once the form of what failed is free again.
  setTimeout(sendWaiting, 0, target);
}
document.body.addEventListener("htmx:responseError", tellFailed);
document.body.addEventListener("htmx:sendError", tellFailed);

for (const hidden of document.querySelectorAll("[data-needs-script]")) hidden.hidden = false;
keysWanted.checked = recall(KEYS_WANTED) !== "off";
keysWanted.addEventListener("change", () => remember(KEYS_WANTED, keysWanted.checked ? "on" : "off"));
mark();
