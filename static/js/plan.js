// The costs of what is ticked, as it is ticked. Without this they are those of the proposal until it is asked for anew.

const SECONDS_PER_HOUR = 3600;

const form = document.getElementById("plan");
const place = (name) => form.querySelector(`[data-total="${name}"]`);
// The server writes numbers as the language of the page has them; hours come with one decimal.
const point = /\D/.exec(place("hours").textContent)?.[0] ?? ".";

function addUp() {
  const boxes = [...form.querySelectorAll("input[name=session]:checked")];
  const sum = (name) => boxes.reduce((total, box) => total + Number(box.dataset[name]), 0);
  place("sessions").textContent = boxes.length;
  place("judgements").textContent = sum("judgements");
  place("attention").textContent = sum("attention");
  place("hours").textContent = (sum("seconds") / SECONDS_PER_HOUR).toFixed(1).replace(".", point);
}

form.addEventListener("change", (event) => {
  if (event.target.name === "session") addUp();
});
// A browser that goes back ticks the boxes as they were left.
addEventListener("pageshow", addUp);
