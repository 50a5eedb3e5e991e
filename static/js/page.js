// What the annotator's scripts share: sending, announcing, and word from tab to tab.

const TIMEOUT_MS = 15_000;
// Browsers refuse to let more than 64 KiB outlive a page.
const LONGEST_KEEPALIVE = 60_000;

/** POST `fields`; resolves to {status, moved, data}, and rejects where no answer came. Outlives the page, unless it is huge. */
export async function send(url, fields) {
  const body = new URLSearchParams(fields);
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: { "X-CSRFToken": csrfToken(), Accept: "application/json" },
    redirect: "manual",
    keepalive: body.toString().length < LONGEST_KEEPALIVE,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
  return { status: response.status, moved: response.type === "opaqueredirect", data: isJson ? await response.json() : {} };
}

/** What became of what was sent: saved, signed-out, conflict, gone, closed, refused, failed, or offline: try again. */
export function outcomeOf({ status, data = {} }) {
  if (status === 200) return "saved";
  if (status === 401 || status === 403) return "signed-out";
  if (status === 409 && data.state === "stale-draft") return "conflict";
  if (status === 409 && data.state === "task-gone") return "gone";
  if (status === 404 || status === 409 || status === 410) return data.location ? "closed" : "failed";
  if (status === 422) return "refused";
  return status >= 400 && status < 500 && status !== 429 ? "failed" : "offline";
}

// The cookie, not the form: signing in again in another tab renews the one and leaves the other stale.
export function csrfToken() {
  const cookies = new Map(document.cookie.split("; ").map((pair) => pair.split("=")));
  const field = document.querySelector("[name=csrfmiddlewaretoken]");
  // Over TLS it has the first name; one of the second may be left of another time.
  return cookies.get("__Host-csrftoken") ?? cookies.get("csrftoken") ?? field.value;
}

// The second half of a double tap, or a key held down, is not meant for what came to its place.
const DEAF_MS = 300;
let hearing = null;

/** Take no tap for a moment; `data-deaf` says so for as long. */
export function turnDeaf(during = DEAF_MS) {
  const { dataset } = document.documentElement;
  dataset.deaf = "";
  clearTimeout(hearing);
  if (during < Infinity) hearing = setTimeout(() => delete dataset.deaf, during);
}

export const isDeaf = () => "deaf" in document.documentElement.dataset;

let said = [];

/** Have a screen reader say `text`, also when it is what was said last, and after what else is said at this moment. */
export function announce(text) {
  const status = document.getElementById("status");
  status.textContent = "";
  said.push(text);
  setTimeout(() => {
    if (said.length) status.textContent = said.join(" ");
    said = [];
  }, 50);
}

/** Note that this person has answered on this device: from now on the page's introduction is closed. */
export function begun(about) {
  about.open = false;
  remember(`crosslens.begun/${document.querySelector('meta[name="person"]').content}/${about.dataset.about}`, "yes");
}

/** What `remember` kept on this device, null if nothing. */
export function recall(name, storage = "localStorage") {
  try {
    return window[storage].getItem(name);
  } catch {
    return null;
  }
}

export function remember(name, value, storage = "localStorage") {
  try {
    window[storage].setItem(name, value);
  } catch {
    // No storage: until the page is left.
  }
}

/** Fetch one image after the other, so that each is there before it is wanted, and without a connection. */
export async function fetchImages(images) {
  for (const image of images) {
    image.loading = "eager";
    // What broke off for want of a connection begins again.
    if (image.complete && !image.naturalWidth) image.src = image.getAttribute("src");
    await image.decode().catch(() => {});
  }
}

export function signInLink(form, { newTab = false } = {}) {
  const link = document.createElement("a");
  link.href = `${form.dataset.signIn}?next=${encodeURIComponent(location.pathname)}`;
  link.textContent = form.dataset.textSignedOutLink;
  if (newTab) Object.assign(link, { target: "_blank", rel: "noopener" });
  return link;
}

export const isUndoKey = ({ key, code }) => key === "Backspace" || key.toLowerCase() === "u" || (code === "KeyU" && key > "\x7f");

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const waitBeforeAttempt = (attempt) => Math.min(30_000, 1000 * 2 ** attempt);

const NEWS = "crosslens.batch-moved";
const channel = "BroadcastChannel" in window ? new BroadcastChannel(NEWS) : null;

/** Tell the other tabs that `batch` has left screen 1. */
export function tellMoved(batch) {
  channel?.postMessage(batch);
  try {
    localStorage.setItem(NEWS, `${batch} ${Date.now()}`);
    localStorage.removeItem(NEWS);
  } catch {
    // No storage: the channel has told them.
  }
}

export function onMoved(batch, act) {
  channel?.addEventListener("message", (event) => event.data === batch && act());
  addEventListener("storage", (event) => event.key === NEWS && event.newValue?.startsWith(batch) && act());
}
