// Search from any page of managers: Ctrl+K or ⌘K, or /, opens it; arrows choose, Enter goes there. Without this script
// the link leads to a page that does the same.

const PAUSE_MS = 150;

// On the page only once it was opened: nobody else meets its field.
const dialog = document.getElementById("palette").content.firstElementChild.cloneNode(true);
const input = dialog.querySelector("input");
const list = dialog.querySelector("[role=listbox]");
const status = dialog.querySelector("[role=status]");
let timer = 0;
let asked = null;
let chosen = -1;

const options = () => [...list.querySelectorAll("[role=option]")];

function choose(index) {
  const all = options();
  chosen = all.length ? (index + all.length) % all.length : -1;
  all.forEach((option, place) => option.setAttribute("aria-selected", String(place === chosen)));
  if (chosen < 0) input.removeAttribute("aria-activedescendant");
  else {
    input.setAttribute("aria-activedescendant", all[chosen].id);
    all[chosen].scrollIntoView({ block: "nearest" });
  }
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The answer is part of our own page: its links become the options of a listbox.
function show(page) {
  let number = 0;
  const groups = [...page.querySelectorAll(".found")].map((found, place) => {
    const label = element("p", { class: "palette__group", id: `palette-group-${place}` }, found.querySelector("h2").textContent);
    const hits = [...found.querySelectorAll("li")].map((item) => {
      const detail = item.querySelector(".muted");
      const option = element("div", { role: "option", id: `palette-${number++}` }, item.querySelector("a").textContent);
      option.dataset.href = item.querySelector("a").getAttribute("href");
      if (detail) option.append(" ", element("span", { class: "muted" }, detail.textContent));
      return option;
    });
    return element("div", { role: "group", "aria-labelledby": label.id }, label, ...hits);
  });
  list.replaceChildren(...groups);
  input.setAttribute("aria-expanded", String(number > 0));
  status.textContent = input.value.trim() ? dialog.dataset.found.replace("{number}", number) : "";
  choose(0);
}

async function find() {
  asked?.abort();
  asked = new AbortController();
  const query = new URLSearchParams({ q: input.value, project: dialog.dataset.project });
  try {
    const answer = await fetch(`${dialog.dataset.url}?${query}`, { headers: { "HX-Request": "true" }, signal: asked.signal });
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // Without a network, or overtaken by the next letter: what is shown stays.
  }
}

function open() {
  if (dialog.open) return;
  if (!dialog.isConnected) document.body.append(dialog);
  dialog.showModal();
  input.select();
}

function go(option) {
  if (option) window.location.assign(option.dataset.href);
  else window.location.assign(`${dialog.dataset.url}?${new URLSearchParams({ q: input.value })}`);
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
  const isShortcut = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k";
  const isSlash = event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (!isShortcut && !isSlash) return;
  event.preventDefault();
  open();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-palette]");
  if (link && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
    event.preventDefault();
    open();
  }
  if (event.target === dialog) dialog.close();
});

input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(find, PAUSE_MS);
});

input.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
  } else if (event.key === "Enter") {
    event.preventDefault();
    go(options()[chosen]);
  }
});

list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (option) go(option);
});
