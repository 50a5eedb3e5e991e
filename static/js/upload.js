// Files and folders dropped onto the import form, each with its progress. Without scripts it is a plain form.
import { announce, csrfToken } from "./page.js";

const MB = 1e6;

for (const form of document.querySelectorAll("form[data-upload]")) receive(form);

function receive(form) {
  const { dataset } = form;
  const input = form.querySelector("input[type=file]");
  const button = form.querySelector("button[type=submit]");
  const files = new Map();
  let isSending = false;

  const zone = make("div", "upload__zone");
  const list = make("ul", "upload__files");
  const total = make("p", "upload__total");
  const error = make("p", "notice notice--error");
  const folder = Object.assign(document.createElement("input"), { type: "file", webkitdirectory: true, hidden: true });
  const chooseFolder = Object.assign(make("button", "button"), { type: "button", textContent: dataset.textFolder });
  error.hidden = true;
  error.setAttribute("role", "alert");
  zone.append(Object.assign(make("p", "upload__invitation"), { textContent: dataset.textDrop }));
  const field = input.closest(".field");
  field.before(zone);
  zone.append(field, folder, chooseFolder);
  zone.after(error, list, total);
  input.required = false;
  show();

  for (const one of [input, folder]) {
    one.addEventListener("change", () => {
      add([...one.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
      one.value = "";
    });
  }
  chooseFolder.addEventListener("click", () => folder.click());

  let depth = 0;
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
  });
  // A file that misses the zone must not replace the page.
  addEventListener("drop", (event) => hasFiles(event) && event.preventDefault());
  zone.addEventListener("dragenter", (event) => hasFiles(event) && zone.classList.toggle("is-over", ++depth > 0));
  zone.addEventListener("dragleave", (event) => hasFiles(event) && zone.classList.toggle("is-over", --depth > 0));
  zone.addEventListener("drop", async (event) => {
    depth = 0;
    zone.classList.remove("is-over");
    if (!hasFiles(event)) return;
    event.preventDefault();
    const dropped = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    // Entries are only there during the event; what they hold is read afterwards.
    const entries = dropped.map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
    for (const entry of entries) add(await filesOf(entry));
  });

  form.addEventListener("submit", (event) => {
    if (!files.size && !isSending) return;
    event.preventDefault();
    if (!isSending) send();
  });
  addEventListener("beforeunload", (event) => isSending && event.preventDefault());

  async function filesOf(entry, within = "") {
    if (entry instanceof File) return [{ file: entry, path: entry.name }];
    const path = within + entry.name;
    try {
      if (entry.isFile) return [{ file: await new Promise((done, fail) => entry.file(done, fail)), path }];
      const reader = entry.createReader();
      const found = [];
      // It gives a hundred at a time.
      for (;;) {
        const some = await new Promise((done, fail) => reader.readEntries(done, fail));
        if (!some.length) return found;
        for (const one of some) found.push(...(await filesOf(one, `${path}/`)));
      }
    } catch {
      return [{ path }];
    }
  }

  function add(found) {
    if (isSending) return;
    error.hidden = true;
    for (const { file, path } of found) {
      if (path.split("/").some((part) => part.startsWith(".") || part === "__MACOSX")) continue;
      const problem = problemOf(file, path);
      const row = line(path, problem ?? dataset.textAdded, problem);
      if (problem) continue;
      files.set(path, { file, row });
      const remove = Object.assign(make("button", "button button--quiet"), { type: "button", textContent: dataset.textRemove });
      remove.append(Object.assign(make("span", "visually-hidden"), { textContent: ` ${path}` }));
      remove.addEventListener("click", () => {
        files.delete(path);
        row.remove();
        show();
      });
      row.append(remove);
    }
    show();
  }

  function problemOf(file, path) {
    if (!file) return dataset.textUnreadable;
    const name = path.toLowerCase();
    if (!file.size) return dataset.textEmpty;
    const isImage = /\.(jpe?g|png|webp|tiff?|gif)$/.test(name);
    if (isImage && file.size > dataset.mostMbOfOne * MB) return dataset.textLarge;
    if (files.has(path)) return dataset.textTwice;
    if (files.size >= dataset.mostFiles || bytes() + file.size > dataset.mostMb * MB) return dataset.textMany;
    return null;
  }

  function line(path, state, problem) {
    const row = make("li", problem ? "upload__file is-refused" : "upload__file");
    row.append(Object.assign(document.createElement("bdi"), { textContent: path }));
    row.append(Object.assign(make("span", "upload__state"), { textContent: state }));
    list.append(row);
    return row;
  }

  function bytes() {
    return [...files.values()].reduce((sum, { file }) => sum + file.size, 0);
  }

  function show() {
    total.hidden = !files.size;
    const size = (bytes() / MB).toFixed(1);
    total.textContent = dataset.textTotal.replace("%(files)s", files.size).replace("%(size)s", size);
  }

  function send() {
    const paths = [...files.keys()];
    const rows = [...files.values()];
    const body = new FormData(form);
    body.set("paths", JSON.stringify(paths));
    body.delete(input.name);
    for (const { file } of rows) body.append(input.name, file);
    for (const { row } of rows) {
      row.querySelector("button")?.remove();
      row.querySelector("progress")?.remove();
      row.append(Object.assign(document.createElement("progress"), { max: 1, value: 0, ariaLabel: dataset.textSending }));
    }
    setSending(true);
    announce(dataset.textSending);
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("X-CSRFToken", csrfToken());
    request.setRequestHeader("Accept", "application/json");
    request.responseType = "json";
    let first = 0;
    let before = 0;
    request.upload.addEventListener("progress", ({ loaded, total: all }) => {
      // They go one after the other; what is between them is small.
      const sent = (loaded / all) * bytes();
      for (; first < rows.length; first++) {
        const { file, row } = rows[first];
        const share = Math.min(1, (sent - before) / file.size);
        row.querySelector("progress").value = share;
        row.querySelector(".upload__state").textContent = share < 1 ? dataset.textSending : dataset.textSent;
        if (share < 1) break;
        before += file.size;
      }
    });
    request.addEventListener("load", () => {
      setSending(false);
      if (request.status === 200 && request.response?.location) location.assign(request.response.location);
      else fail(request.response?.errors?.join(" ") || dataset.textFailed);
    });
    for (const name of ["error", "timeout", "abort"]) {
      request.addEventListener(name, () => {
        setSending(false);
        fail(dataset.textFailed);
      });
    }
    request.send(body);
  }

  function fail(text) {
    error.textContent = text;
    error.hidden = false;
    for (const { row } of files.values()) {
      row.querySelector("progress")?.remove();
      row.querySelector(".upload__state").textContent = dataset.textAdded;
    }
  }

  function setSending(value) {
    isSending = value;
    for (const one of [button, chooseFolder, input]) one.disabled = value;
  }
}

function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

function make(tag, names) {
  return Object.assign(document.createElement(tag), { className: names });
}
