// Narrows a long list to the entries that contain what is typed, as people write it: without accents, in any case.

const FEW = 8;
const plain = (text) => text.normalize("NFKD").replace(/\p{Mark}/gu, "").toLocaleLowerCase();

for (const list of document.querySelectorAll("[data-picks]")) {
  const rows = [...list.querySelectorAll("[data-words]")];
  const find = list.querySelector("[data-find]");
  if (rows.length <= FEW) continue;
  find.hidden = false;
  list.classList.add("pick--long");
  const isChosen = (row) => row.querySelector("select")?.value || row.querySelector("input:checked");
  const narrow = () => {
    const wanted = plain(find.querySelector("input").value.trim());
    for (const row of rows) row.hidden = !plain(row.dataset.words).includes(wanted) && !isChosen(row);
  };
  find.addEventListener("input", narrow);
  // Enter would submit the whole form.
  find.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  // A browser that goes back has kept the words.
  addEventListener("pageshow", narrow);
}
