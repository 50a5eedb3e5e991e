// A caption written anew: what is typed stays on this device until it is handed in, should the connection or the
// session be gone by then.

import { announce } from "./page.js";
import { Kept } from "./saver.js";

const form = document.getElementById("rewrite");
const field = form.elements.text;
const kept = new Kept(form.dataset.user, "rewrite", form.dataset.caption);
const came = field.defaultValue;
const hasAnswer = Boolean(form.querySelector(".warnings, .notice--error"));

const keep = () => kept.put(0, { text: field.value, sent: [] });
// Before anything is waited for: a page that is closed at once keeps what was typed, too.
field.addEventListener("input", keep);
if (field.value !== came) keep(); // Typed before this script was there.

await kept.recover();
const before = kept.newest();
// Where the server answered with what was sent, that is the newest.
if (before && !hasAnswer && field.value === came && before.text !== came) {
  field.value = before.text;
  announce(form.dataset.textRestored);
}
