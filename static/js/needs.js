// In the navigation, how many things need the person. Asked after the page, so that no page waits for it.
const link = document.querySelector("[data-needs]");
const answer = await fetch(link.dataset.needs, { headers: { accept: "text/plain" } }).catch(() => null);
const number = answer?.ok && !answer.redirected ? Number(await answer.text()) : 0;
if (number) {
  const shown = link.querySelector("[data-number]");
  shown.textContent = number;
  shown.hidden = false;
}
