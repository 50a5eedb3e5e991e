// How much of the window an on-screen keyboard leaves: the sheet keeps what matters above it.

const KEYBOARD_PX = 150;

export function watchKeyboard() {
  const view = window.visualViewport;
  if (!view) return;
  const page = document.documentElement;
  const tallest = { portrait: 0, landscape: 0 };
  const measure = () => {
    if (view.scale > 1.05) return;
    const way = innerWidth > innerHeight ? "landscape" : "portrait";
    tallest[way] = Math.max(tallest[way], innerHeight);
    const beneath = Math.max(0, innerHeight - view.height - view.offsetTop);
    page.style.setProperty("--visible", `${view.height}px`);
    page.style.setProperty("--beneath", `${beneath}px`);
    page.classList.toggle("has-keyboard", tallest[way] - view.height > KEYBOARD_PX);
  };
  view.addEventListener("resize", measure);
  view.addEventListener("scroll", measure);
  measure();
}
