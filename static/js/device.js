// On every page: the server learns of this device's time zone, and signing out takes everything of ours off the device.
// If somebody else signs in first, the pages and saved texts of the last person go; texts that were not sent wait for them.

// Times are shown in it from the next page on.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const secure = location.protocol === "https:" ? ";secure" : "";
if (timeZone) document.cookie = `timezone=${timeZone};path=/;max-age=31536000;samesite=lax${secure}`;

const OURS = "crosslens.";
const UNSENT = "crosslens.draft/";
const SIGNING_OUT = "crosslens:signing-out";
const OF_ONE_PERSON = ["crosslens.batch/", "crosslens.stored/"];

const person = document.querySelector('meta[name="person"]')?.content;
const isOfOthers = (name) => OF_ONE_PERSON.some((start) => name.startsWith(start) && !name.startsWith(`${start}${person}/`));

async function forgetOthers() {
  try {
    for (const name of (await globalThis.caches?.keys()) ?? []) if (isOfOthers(name)) await caches.delete(name);
    for (const key of Object.keys(localStorage).filter(isOfOthers)) localStorage.removeItem(key);
  } catch {
    // No storage, so nothing is on it.
  }
}

if (person) forgetOthers();

// It asks first, if a text has not been sent yet.
const form = document.querySelector("form[data-signs-out]");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  let keys = [];
  try {
    keys = Object.keys(localStorage);
  } catch {
    // No storage, so nothing is on it.
  }
  if (keys.some((key) => key.startsWith(UNSENT)) && !confirm(form.dataset.unsent)) return;
  // Scripts of the page must not keep its text again while it goes.
  dispatchEvent(new Event(SIGNING_OUT));
  for (const key of keys) if (key.startsWith(OURS)) localStorage.removeItem(key);
  indexedDB?.deleteDatabase("crosslens");
  for (const name of (await globalThis.caches?.keys()) ?? []) if (name.startsWith(OURS)) await caches.delete(name);
  form.submit();
});
