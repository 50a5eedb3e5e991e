// Texts of a batch that wait on this device: each is sent, the oldest first, until it got through, and none twice.

import { sendWaiting, waitingIn } from "./saver.js";
import { SendingQueue } from "./sending_queue.js";

/**
 * A function that sends them; resolves to how many are left, of which the page says so. `about()` is the batch, `but` the
 * image whose field is open. `hear(position, {outcome, data, found})` is told what became of each.
 */
export function sender(about, hear) {
  const queue = new SendingQueue(async (position) => {
    if (position === String(about().but)) return true;
    const sent = await sendWaiting(about(), position);
    if (sent) hear(position, sent);
    return !["offline", "signed-out"].includes(sent?.outcome);
  });
  // After what else is on its way: `before` resolves once it is not.
  return async (before = null) => {
    queue.mark(true);
    await before;
    for (const position of waitingIn(about())) queue.add(position);
    await queue.run();
    const left = waitingIn(about()).length;
    const line = document.querySelector("[data-waiting]");
    line.hidden = left === 0;
    line.querySelector("b").textContent = left;
    return left;
  };
}
