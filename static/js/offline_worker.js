// A service worker for screen 2: where there is no network, it answers with what the page kept of its own batch. It
// keeps nothing itself, so that nothing of screen 1 can get into it.

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  if (method !== "GET" || (mode === "navigate" && !/\/write\/\d+\/$/.test(new URL(url).pathname))) return;
  event.respondWith(
    fetch(event.request).catch(async (error) => {
      const kept = await caches.match(event.request, { ignoreSearch: mode === "navigate", ignoreVary: true });
      if (kept) return kept;
      throw error;
    }),
  );
});
