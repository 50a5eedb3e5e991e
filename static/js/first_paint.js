// Before anything is painted, so that nothing moves: one image at a time or the list, and the introduction, open until the
// first answer of this person on this device.
{
  const about = document.querySelector("[data-about]");
  const person = document.querySelector('meta[name="person"]')?.content;
  let view = null;
  let hasBegun = false;
  try {
    view = localStorage.getItem("crosslens.rating-view");
    hasBegun = localStorage.getItem(`crosslens.begun/${person}/${about.dataset.about}`) !== null;
  } catch {
    // No storage: as on the first day.
  }
  document.documentElement.dataset.view = view ?? (matchMedia("(max-width: 37.49rem)").matches ? "one" : "list");
  about.open = !hasBegun;
}
