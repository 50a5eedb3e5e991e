// What screen 2 keeps on this device so that a batch can be written without a network: the pages of its images, what
// they are made of, and the images in the size that this screen shows. Never another batch, and nothing of screen 1.

const PREFIX = "crosslens.batch/";

const nameOf = (user, batch) => `${PREFIX}${user}/${batch}`;

/**
 * Keep the pages `urls` of a batch; resolves to how many of them this device has now. A page that `isLikeThisOne` denies
 * is fetched anew: it is of another version, or lists other images.
 */
export async function keepBatch({ worker, user, batch, urls, isLikeThisOne }) {
  if (!("serviceWorker" in navigator) || !("caches" in window)) return 0;
  await navigator.serviceWorker.register(worker);
  const name = nameOf(user, batch);
  await forgetBatches({ but: name });
  const cache = await caches.open(name);
  await keepMissing(cache, parts(document));
  await forgetPages(cache, { but: urls });
  let kept = 0;
  for (const url of urls) {
    try {
      if (await keepPage(cache, url, isLikeThisOne)) kept += 1;
    } catch {
      // No network: the next page tries again.
    }
  }
  return kept;
}

export async function isPageKept(url) {
  return "caches" in window && navigator.serviceWorker?.controller && Boolean(await caches.match(url));
}

export async function forgetBatches({ but = null } = {}) {
  if (!("caches" in window)) return;
  for (const name of await caches.keys()) if (name.startsWith(PREFIX) && name !== but) await caches.delete(name);
}

/** Forget the pages of images that are no longer in the batch. */
async function forgetPages(cache, { but }) {
  const paths = but.map((url) => new URL(url, location).pathname);
  for (const { url } of await cache.keys()) {
    const { pathname } = new URL(url);
    if (/\/write\/\d+\/$/.test(pathname) && !paths.includes(pathname)) await cache.delete(url);
  }
}

/** Whether the page at `url` is on this device, as it is now. */
async function keepPage(cache, url, isLikeThisOne) {
  const kept = await cache.match(url);
  if (kept && isLikeThisOne(await pageOf(kept))) return true;
  const response = await fetch(url);
  if (!response.ok || response.redirected) return false;
  const page = await pageOf(response.clone());
  if (!isLikeThisOne(page)) return false;
  await keepMissing(cache, [...parts(page), ...image(page)]);
  await cache.put(url, response);
  return true;
}

const pageOf = async (response) => new DOMParser().parseFromString(await response.text(), "text/html");

async function keepMissing(cache, urls) {
  for (const url of urls) if (!(await cache.match(url))) await cache.add(url);
}

const parts = (page) =>
  [...page.querySelectorAll('link[rel="stylesheet"], link[rel="modulepreload"], script[src], header img')].map(
    (node) => node.getAttribute("href") ?? node.getAttribute("src"),
  );

/** The size that this screen takes of a page's image, as it takes it of the one that is shown here. */
function image(page) {
  const shown = page.querySelector("#zoom-link img");
  const width = document.querySelector("#zoom-link img")?.currentSrc.split("/").at(-3);
  const sizes = shown?.getAttribute("srcset").split(", ").map((one) => one.split(" ")[0]) ?? [];
  const found = sizes.find((url) => url.split("/").at(-3) === width) ?? shown?.getAttribute("src");
  return found ? [found] : [];
}
