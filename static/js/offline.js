// What screen 2 keeps on this device so that a batch can be written without a network: the pages of its images, what
// they are made of, and the images in the size that this screen shows. Never another batch, and nothing of screen 1.

const PREFIX = "crosslens.batch/";

const nameOf = (user, batch) => `${PREFIX}${user}/${batch}`;

/** Keep the pages `urls` of a batch, once; resolves to how many of them this device has now. */
export async function keepBatch({ worker, user, batch, urls }) {
  if (!("serviceWorker" in navigator) || !("caches" in window)) return 0;
  await navigator.serviceWorker.register(worker);
  const name = nameOf(user, batch);
  await forgetBatches({ but: name });
  const cache = await caches.open(name);
  await keepMissing(cache, parts(document));
  let kept = 0;
  for (const url of urls) {
    try {
      kept += await keepPage(cache, url);
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

async function keepPage(cache, url) {
  if (await cache.match(url)) return 1;
  const response = await fetch(url);
  if (!response.ok || response.redirected) return 0;
  const page = new DOMParser().parseFromString(await response.clone().text(), "text/html");
  if (!page.getElementById("write")) return 0;
  await keepMissing(cache, [...parts(page), ...image(page)]);
  await cache.put(url, response);
  return 1;
}

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
