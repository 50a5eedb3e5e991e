// Marks the words that a word of a sentence is aligned with, while it is pointed at or has the focus.
const words = [...document.querySelectorAll("[data-partners]")];

function mark(word, isMarked) {
  for (const key of word.dataset.partners.split(" ")) {
    document.getElementById(`word-${key}`)?.classList.toggle("is-partner", isMarked);
  }
  word.classList.toggle("is-pointed", isMarked);
}

for (const word of words) {
  // Only with this script is there anything to reach by the keyboard.
  if (word.closest("[lang=en]")) word.tabIndex = 0;
  word.addEventListener("pointerenter", () => mark(word, true));
  word.addEventListener("pointerleave", () => mark(word, false));
  word.addEventListener("focus", () => mark(word, true));
  word.addEventListener("blur", () => mark(word, false));
}
