// Texts of images that are no longer this person's: in sight, and on this device, until the person closes them.

import { announce } from "./page.js";
import { forgetGone, goneIn } from "./saver.js";

/** Show those of a batch that are not shown yet. */
export function showGone({ user, batch }) {
  const template = document.getElementById("gone");
  for (const { key, why, text } of goneIn(user, batch)) {
    if (template.parentNode.querySelector(`[data-gone="${key}"]`)) continue;
    const notice = template.content.firstElementChild.cloneNode(true);
    notice.dataset.gone = key;
    notice.open = matchMedia("(width >= 43rem)").matches;
    notice.querySelector("[data-why]").textContent = why;
    notice.querySelector("[data-typed]").textContent = text;
    notice.querySelector("button").addEventListener("click", () => {
      forgetGone(key);
      notice.remove();
    });
    template.after(notice);
    announce(why);
  }
}
