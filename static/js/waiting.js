// Texts of a batch that wait on this device: they are sent, and the page says how many are left.

import { sendWaiting } from "./saver.js";

/** A function that sends them, after what it sends already. `about()` is what `sendWaiting` asks for; it resolves alike. */
export function sender(about) {
  let sending = null;
  let next = null;

  async function send() {
    const found = await sendWaiting(about());
    const line = document.querySelector("[data-waiting]");
    line.hidden = found.left === 0;
    line.querySelector("b").textContent = found.left;
    return found;
  }

  return () => {
    next ??= Promise.resolve(sending).then(() => {
      next = null;
      return (sending = send());
    });
    return next;
  };
}
