// Ticks many boxes at once: those of a group, or all. Without this, a group comes back from the server with its boxes ticked.

const boxes = (name) => [...document.querySelectorAll(`input[type="checkbox"][name="${CSS.escape(name)}"]`)];

const counts = [...document.querySelectorAll("[data-counts]")];
const count = () => {
  for (const shown of counts) shown.value = boxes(shown.dataset.counts).filter((box) => box.checked).length;
};

for (const group of document.querySelectorAll("[data-ticks]")) {
  const values = new Set(group.dataset.ticks.split(" "));
  if (group.localName === "a") group.setAttribute("role", "button");
  const tick = (event) => {
    event.preventDefault();
    const ofGroup = boxes(group.dataset.of).filter((box) => values.has(box.value));
    const isTicked = ofGroup.every((box) => box.checked);
    for (const box of ofGroup) box.checked = !isTicked;
    count();
  };
  group.addEventListener("click", tick);
  group.addEventListener("keydown", (event) => event.key === " " && tick(event));
}

for (const all of document.querySelectorAll("[data-ticks-all]")) {
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes(all.dataset.ticksAll)) box.checked = all.checked;
    count();
  });
}

if (counts.length) {
  for (const shown of counts) shown.parentElement.hidden = false;
  document.addEventListener("change", count);
  // A browser that goes back has kept the ticks.
  addEventListener("pageshow", count);
  count();
}
