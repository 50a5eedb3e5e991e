// The costs of what is ticked, as it is ticked. Without this they are those of the proposal until it is asked for anew.

const SECONDS_PER_HOUR = 3600;

const form = document.getElementById("plan");
const number = new Intl.NumberFormat(`${document.documentElement.lang}-u-nu-latn`, { useGrouping: false });
const hours = new Intl.NumberFormat(`${document.documentElement.lang}-u-nu-latn`, {
  useGrouping: false,
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

function show(name, text) {
  const place = form.querySelector(`[data-total="${name}"]`);
  if (place) place.textContent = text;
}

function addUp() {
  const boxes = [...form.querySelectorAll("input[name=session]:checked")];
  const sum = (name) => boxes.reduce((total, box) => total + Number(box.dataset[name]), 0);
  show("sessions", number.format(boxes.length));
  show("judgements", number.format(sum("judgements")));
  show("attention", number.format(sum("attention")));
  show("hours", hours.format(sum("seconds") / SECONDS_PER_HOUR));
}

form.addEventListener("change", (event) => {
  if (event.target.name === "session") addUp();
});
// A browser that goes back ticks the boxes as they were left.
addEventListener("pageshow", () => {
  if (form.querySelector("input[name=session]")) addUp();
});
