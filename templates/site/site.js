"use strict";

const SHOWN = 200;

for (const link of document.querySelectorAll("[data-images]")) {
  const number = 1 + Math.floor(Math.random() * Number(link.dataset.images));
  link.href = `${link.dataset.folder ?? ""}${number}.html`;
}

const form = document.querySelector("#search");
let rows = [];

/** The files of a language call this: a page from a disk may load scripts, but nothing else. */
function found(more) {
  rows = rows.concat(more);
}

function folded(text) {
  return text.normalize("NFKC").toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ").normalize("NFKC").trim().replace(/\s+/gu, " ");
}

function load(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    script.src = address;
    document.head.append(script);
  });
}

function line(number, text, option) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = `images/${number}.html`;
  link.textContent = `${form.dataset.image} ${number}`;
  const caption = document.createElement("p");
  caption.lang = option.value;
  caption.dir = option.dir;
  caption.textContent = text;
  item.append(link, caption);
  return item;
}

function note(text) {
  const item = document.createElement("li");
  item.textContent = text;
  return item;
}

let loaded = "";

async function search() {
  const option = form.querySelector("#in").selectedOptions[0];
  const wanted = folded(form.querySelector("#text").value);
  if (!wanted || !option) {
    return;
  }
  if (loaded !== option.value) {
    rows = [];
    loaded = option.value;
    for (let part = 1; part <= Number(option.dataset.parts); part += 1) {
      await load(`search/${option.value}-${part}.js`);
    }
  }
  const hits = rows.filter(([, text]) => folded(text).includes(wanted));
  const lines = hits.slice(0, SHOWN).map(([number, text]) => line(number, text, option));
  if (!hits.length) {
    lines.push(note(form.dataset.none));
  } else if (hits.length > SHOWN) {
    lines.push(note(form.dataset.many));
  }
  document.querySelector("#results").replaceChildren(...lines);
}

if (form) {
  form.hidden = false;
  let last = Promise.resolve();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    last = last.then(search, search);
  });
}
