// Ticks many boxes at once: those of a group, or all. Without this, a group is a link that ticks its boxes on a new page.

const boxes = (name) => [...document.querySelectorAll(`input[type="checkbox"][name="${CSS.escape(name)}"]`)];

for (const link of document.querySelectorAll("[data-ticks]")) {
  const values = new Set(link.dataset.ticks.split(" "));
  link.setAttribute("role", "button");
  const tick = (event) => {
    event.preventDefault();
    const group = boxes(link.dataset.of).filter((box) => values.has(box.value));
    const isTicked = group.every((box) => box.checked);
    for (const box of group) box.checked = !isTicked;
  };
  link.addEventListener("click", tick);
  link.addEventListener("keydown", (event) => event.key === " " && tick(event));
}

for (const all of document.querySelectorAll("[data-ticks-all]")) {
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes(all.dataset.ticksAll)) box.checked = all.checked;
  });
}
