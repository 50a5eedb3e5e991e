// Texts that have to outlive a crash of the browser: IndexedDB has them on the disk at once, whereas Chromium writes
// localStorage down up to a minute later. Without IndexedDB nothing is kept here, and nothing fails.

const DATABASE = "crosslens";
const STORE = "kept";
// After a crash, a slow device reads for seconds; nobody waits for it.
const PATIENCE_MS = 10_000;

let opening = null;

function open() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opening;
}

// Transactions run in the order in which they were asked for, so that what is removed after it was put is gone.
async function change(act) {
  try {
    act((await open()).transaction(STORE, "readwrite").objectStore(STORE));
  } catch {
    // localStorage has it.
  }
}

const startingWith = (prefix) => IDBKeyRange.bound(prefix, `${prefix}\uffff`);

export const put = (key, text) => change((store) => store.put(text, key));

/** Remove all whose key starts with `prefix`, save `but`. */
export const removeAll = (prefix, but = null) =>
  change((store) => {
    store.getAllKeys(startingWith(prefix)).onsuccess = ({ target }) => {
      for (const key of target.result) if (key !== but) store.delete(key);
    };
  });

/** [key, text] of all whose key starts with `prefix`; none where the browser refuses, or never answers, as WebKit once did. */
export function all(prefix) {
  const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, []));
  return Promise.race([open().then((database) => pairs(database, prefix)), patience]).catch(() => []);
}

const pairs = (database, prefix) =>
  new Promise((resolve, reject) => {
    const found = [];
    const request = database.transaction(STORE).objectStore(STORE).openCursor(startingWith(prefix));
    request.onerror = () => reject(request.error);
    request.onsuccess = ({ target: { result: cursor } }) => {
      if (!cursor) return resolve(found);
      found.push([cursor.key, cursor.value]);
      cursor.continue();
    };
  });
