// Copies the text of a field. The buttons are hidden until here, as without scripts the text can be selected by hand.
for (const button of document.querySelectorAll("[data-copies]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).value);
    document.getElementById("status").textContent = button.dataset.done;
    button.textContent = button.dataset.done;
  });
}
