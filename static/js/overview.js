// The overview of a project: how many rows are ticked, all of them at once, and samples in a window of their own.

const boxes = () => [...document.querySelectorAll("#progress [type=checkbox]")];

function tell() {
  const output = document.getElementById("chosen");
  if (!output) return;
  const number = boxes().filter((box) => box.checked).length;
  output.textContent = number ? output.dataset.text.replace("{number}", number) : "";
}

document.addEventListener("change", (event) => event.target.closest("#progress") && tell());

document.addEventListener("click", (event) => {
  const all = event.target.closest("#choose-all");
  if (all && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
    event.preventDefault();
    const rows = boxes();
    const isOn = rows.some((box) => !box.checked);
    for (const box of rows) box.checked = isOn;
    tell();
  }
  if (event.target.closest("#samples [data-close]")) document.getElementById("samples").close();
});

// An answer knows only what was ticked when it was asked for.
let ticked = new Map();

document.addEventListener("htmx:beforeSwap", () => {
  ticked = new Map(boxes().map((box) => [box.id, box.checked]));
});

document.addEventListener("htmx:afterSwap", (event) => {
  for (const box of boxes()) box.checked = ticked.get(box.id) ?? box.checked;
  if (event.detail.target.id === "samples" && !event.detail.target.open) event.detail.target.showModal();
  tell();
});

tell();
