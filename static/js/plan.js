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
  const hours = sum("seconds") / SECONDS_PER_HOUR;
  const write = (output, value, digits) => { output.textContent = value.toFixed(digits).replace(".", point); };
  write(place("hours"), hours, 1);
  const pay = place("pay");
  if (pay) write(pay, hours * Number(pay.dataset.rate), 2);
  const within = place("within");
  if (!within) return;
  const items = sum("judgements") + sum("attention");
  const { quantile, deviation, error } = within.dataset;
  write(within, (quantile * Math.hypot(Math.sqrt(items) * deviation, items * error)) / SECONDS_PER_HOUR, 1);
}

form.addEventListener("change", (event) => {
  if (event.target.name === "session") addUp();
});
// A browser that goes back ticks the boxes as they were left.
addEventListener("pageshow", addUp);
