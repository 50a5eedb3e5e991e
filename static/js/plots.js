// Tells the value of a mark of a plot by pointer, finger or arrow keys, and saves a plot as SVG, PNG or CSV. Without
// this, the marks have titles and a table has the numbers.

const MARKS = "[data-value]";
const NEAR = 24;
const PADDING = 16;
const LINE = 22;
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "opacity",
  "font-family", "font-size", "font-weight", "paint-order",
];
const SVG = "http://www.w3.org/2000/svg";

const tip = document.createElement("div");
tip.className = "plot-tip";
tip.hidden = true;
document.body.append(tip);
let shown = null;

const marksOf = (plot) => [...plot.querySelectorAll(MARKS)];
const plotOf = (target) => target instanceof Element && target.closest("svg.plot");
const said = (mark) => `${mark.dataset.name}: ${mark.dataset.value}`;

function hide() {
  shown?.classList.remove("is-read");
  shown = null;
  tip.hidden = true;
}

function show(mark) {
  if (mark === shown) return;
  hide();
  shown = mark;
  mark.classList.add("is-read");
  mark.querySelector("title")?.remove(); // Or the browser shows it as well.
  tip.textContent = said(mark);
  tip.hidden = false;
  const at = mark.getBoundingClientRect();
  const left = at.left + at.width / 2 - tip.offsetWidth / 2;
  const above = at.top - tip.offsetHeight - 6;
  tip.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 4))}px`;
  tip.style.top = `${above < 4 ? at.bottom + 6 : above}px`;
}

function nearest(plot, event) {
  const direct = event.target.closest(MARKS);
  if (direct) return direct;
  const distance = (mark) => {
    const box = mark.getBoundingClientRect();
    const x = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
    const y = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
    return Math.hypot(x, y);
  };
  const [first] = marksOf(plot).map((mark) => [distance(mark), mark]).sort((one, other) => one[0] - other[0]);
  return first && first[0] <= NEAR ? first[1] : null;
}

function point(event) {
  const plot = plotOf(event.target);
  const mark = plot && nearest(plot, event);
  if (mark) show(mark);
  else if (shown && document.activeElement !== shown.closest("svg")) hide();
}

document.addEventListener("pointermove", point);
document.addEventListener("pointerdown", point);
document.addEventListener("scroll", hide, { passive: true, capture: true });
document.addEventListener("focusout", (event) => plotOf(event.target) && hide());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
  const plot = event.target.matches?.("svg.plot") ? event.target : null;
  if (!plot || !(event.key in STEPS) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const marks = marksOf(plot);
  const next = marks.indexOf(shown) + (shown ? STEPS[event.key] : Math.max(0, STEPS[event.key]) && 1);
  const mark = marks[Math.max(0, Math.min(next, marks.length - 1))];
  show(mark);
  document.getElementById("status").textContent = said(mark);
});

function named(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// A copy that needs no style sheet.
function drawn(plot) {
  const copy = plot.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [plot, ...plot.querySelectorAll("*")].forEach((original, number) => {
    const style = getComputedStyle(original);
    for (const name of STYLES) copies[number].setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "data-name", "data-value", "aria-hidden"]) copies[number].removeAttribute(name);
  });
  const box = plot.getBoundingClientRect();
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  copy.setAttribute("overflow", "visible");
  return copy;
}

function asImage(plot) {
  const { width, height } = plot.getBoundingClientRect();
  const page = getComputedStyle(document.body);
  const colour = { fill: page.color, "font-family": page.fontFamily };
  const entries = [...(plot.parentElement.querySelectorAll(".plot-legend li") ?? [])];
  const whole = { width: width + 2 * PADDING, height: height + (entries.length + 2) * LINE + 3 * PADDING };
  const image = named("svg", { xmlns: SVG, ...whole, viewBox: `0 0 ${whole.width} ${whole.height}` });
  const place = (one, x, y) => {
    one.setAttribute("x", x);
    one.setAttribute("y", y);
    image.append(one);
  };
  const write = (text, x, y, more) => place(named("text", { ...colour, ...more }, text), x, y);
  image.append(named("rect", { width: "100%", height: "100%", fill: page.backgroundColor }));
  write(plot.querySelector("title").textContent, PADDING, PADDING + 14, { "font-size": 16, "font-weight": 600 });
  let y = PADDING + LINE + 6;
  place(drawn(plot), PADDING, y);
  y += height + 6;
  for (const entry of entries) {
    place(drawn(entry.querySelector("svg")), PADDING, y);
    write(entry.textContent.trim(), PADDING + 22, y + 12, { "font-size": 13 });
    y += LINE;
  }
  const source = `${location.origin}${location.pathname}${location.search}, ${new Date().toISOString().slice(0, 10)}`;
  write(source, PADDING, whole.height - PADDING, { "font-size": 11 });
  return new Blob([new XMLSerializer().serializeToString(image)], { type: "image/svg+xml" });
}

async function asPixels(plot) {
  const address = URL.createObjectURL(asImage(plot));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

// A spreadsheet computes what begins with one of these, unless it is a number.
const cell = (text) => {
  const harmless = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

function asTable(plot, button) {
  const table = button.closest("figure, section")?.querySelector("details table");
  const rows = table
    ? [...table.rows].map((row) => [...row.cells].map((one) => one.dataset.inFile ?? one.textContent.trim()))
    : marksOf(plot).map((mark) => [mark.dataset.name, mark.dataset.value]);
  return new Blob(["\ufeff", ...rows.map((row) => `${row.map(cell).join(",")}\r\n`)], { type: "text/csv" });
}

const FORMATS = { svg: asImage, png: asPixels, csv: asTable };

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-plot-files] [data-format]");
  if (!button) return;
  const { plotFiles } = button.parentElement.dataset;
  const plot = document.getElementById(`${plotFiles}-title`)?.closest("svg");
  const { format } = button.dataset;
  const project = location.pathname.match(/^\/projects\/([^/]+)/)?.[1] ?? "crosslens";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await FORMATS[format](plot, button));
  link.download = `${project}-${plotFiles.replaceAll(/[^\w-]+/g, "-")}-${new Date().toISOString().slice(0, 10)}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

function ready() {
  for (const files of document.querySelectorAll("[data-plot-files][hidden]")) files.hidden = false;
  for (const plot of document.querySelectorAll("svg.plot:not([tabindex])")) {
    if (plot.querySelector(MARKS)) plot.setAttribute("tabindex", "0");
  }
}

document.addEventListener("htmx:load", ready);
ready();
