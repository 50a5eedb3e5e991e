// One box chooses all images of the page. It is hidden until here, as it does nothing without scripts.
for (const form of document.querySelectorAll("form[data-chooses]")) {
  const label = form.querySelector("[data-choose-all]");
  const all = label.querySelector("input");
  const boxes = [...form.querySelectorAll("input[name=image]")];
  const show = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    all.checked = chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
  };
  label.hidden = false;
  all.addEventListener("change", () => boxes.forEach((box) => (box.checked = all.checked)));
  form.addEventListener("change", show);
  // Going back restores the boxes after scripts have run.
  addEventListener("pageshow", show);
  show();
}
