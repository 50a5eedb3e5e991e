// In the navigation, how many things need the person. Asked after the page, so that no page waits for it.
const link = document.querySelector("[data-needs]");
const shown = link.querySelector("[data-number]");
// On the page of needs it is there already.
const isKnown = link.hasAttribute("aria-current");
const answer = isKnown ? null : await fetch(link.dataset.needs, { headers: { accept: "text/plain" } }).catch(() => null);
const number = answer?.ok && !answer.redirected ? Number(await answer.text()) : 0;
if (number) {
  shown.textContent = number;
  shown.hidden = false;
}
