// Screen 2 turns to another image without loading a page: the parts of that image's page take the place of this one's.
// The field stays, and with it the focus and the keyboard on a phone's screen.

const TIMEOUT_MS = 15_000;
const FRESH_MS = 30_000;

const form = document.getElementById("write");
const partsOf = (page) => [...page.querySelectorAll("[data-swap]")];
const stepsOf = (page) => [...page.querySelectorAll(".steps a")];

const ahead = new Map();

/** Fetch the page at `path`, an image of the batch, and its picture before they are wanted. */
export function fetchAhead(path) {
  if (path && !ahead.has(path)) ahead.set(path, read(path).catch(() => null));
}

/** Keep the page that came with a save. */
export function keepAhead(text) {
  const page = parsed(text);
  if (page) ahead.set(page.url, Promise.resolve(page));
}

export const isAhead = (path) => ahead.has(path);

/** The page at `path` if this device has it: fetched ahead, or kept for times without a network; else null. */
export async function pageHere(path) {
  const kept = pageKept(path).catch(() => null);
  return Promise.race([ahead.get(path) ?? kept, kept]);
}

async function pageKept(path) {
  const answer = await globalThis.caches?.match(path, { ignoreVary: true });
  return answer ? parsed(await answer.text(), -FRESH_MS) : null;
}

/** The page at `path`; null if anything but an image of this batch came. Rejects without a network, if it is not kept. */
export const pageAt = async (path) => (await ahead.get(path)) ?? read(path);

/** The page at `url` as it is now. */
export async function read(url) {
  const response = await ask(url);
  if (!response.ok || response.redirected) return null;
  return parsed(await response.text());
}

function parsed(text, readAt = performance.now()) {
  const page = new DOMParser().parseFromString(text, "text/html");
  if (!isLikeThisOne(page)) return null;
  const url = page.querySelector(".steps [aria-current]").getAttribute("href");
  // Now, for its picture to be fetched.
  const parts = new Map(partsOf(page).map((part) => [part.dataset.swap, document.importNode(part, true)]));
  return { url, page, parts, readAt };
}

async function ask(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.status < 500) return response;
    throw new Error(response.statusText);
  } catch (error) {
    const kept = await globalThis.caches?.match(url, { ignoreVary: true });
    if (kept) return kept;
    throw error;
  }
}

/** Whether it is the same batch with the same images, for the same person, in the same language and version of the platform. */
export function isLikeThisOne(page) {
  const { dataset } = page.getElementById("write") ?? {};
  const alike = (of) => JSON.stringify(of(page)) === JSON.stringify(of(document));
  return (
    dataset?.batch === form.dataset.batch &&
    dataset.user === form.dataset.user &&
    alike(({ documentElement }) => documentElement.lang) &&
    alike((one) => [...one.querySelectorAll("script")].map((script) => script.getAttribute("src"))) &&
    alike((one) => stepsOf(one).map((step) => step.getAttribute("href")))
  );
}

/** Whether the server may know better by now. */
export const isOld = ({ readAt, parts }) =>
  performance.now() - readAt > FRESH_MS || Boolean(parts.get("figure").querySelector(".waiting"));

export const revisionOf = ({ page }) => Number(page.querySelector("#write [name=revision]").value);

/** Put the image of `page` in the place of the one that is shown. */
export function swap({ url, page, parts }) {
  ahead.delete(url);
  document.title = page.title;
  for (const part of partsOf(document)) part.replaceChildren(...parts.get(part.dataset.swap).childNodes);
  const next = page.getElementById("write");
  for (const name of form.getAttributeNames()) if (!next.hasAttribute(name)) form.removeAttribute(name);
  for (const { name, value } of next.attributes) form.setAttribute(name, value);
  // Which images are written, this page knows better than one that was fetched before.
  for (const [index, step] of stepsOf(page).entries()) {
    const ours = stepsOf(document)[index];
    ours.removeAttribute("aria-current");
    if (step.hasAttribute("aria-current")) ours.setAttribute("aria-current", "step");
  }
  for (const [index, button] of [...next.querySelectorAll(".write__actions button")].entries()) {
    const { value, textContent, hidden } = button;
    Object.assign(form.querySelectorAll(".write__actions button")[index], { value, textContent, hidden });
  }
  for (const name of ["revision", "csrfmiddlewaretoken"]) form.elements[name].value = next.querySelector(`[name=${name}]`).value;
  const back = document.querySelector("[name=next]");
  if (back) back.value = url;
  const [ours, theirs] = [form.elements.text, next.querySelector("#text")];
  ours.dataset.stored = theirs.dataset.stored;
  ours.defaultValue = theirs.value;
  ours.value = theirs.value;
}
