// Shows a password while it is typed, so that nobody has to type it twice. Without scripts there is no button.
for (const button of document.querySelectorAll("[data-reveals]")) {
  const field = document.getElementById(button.dataset.reveals);
  const reveal = (isShown) => {
    field.type = isShown ? "text" : "password";
    button.setAttribute("aria-pressed", isShown);
  };
  button.hidden = false;
  button.addEventListener("click", () => reveal(field.type === "password"));
  // Browsers keep what is sent as text, and offer it to whoever comes next.
  field.form.addEventListener("submit", () => reveal(false));
}
