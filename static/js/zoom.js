// The image over the whole window: wheel, pinch, drag, and the keys + − 0 and the arrows.

const MOST = 8;
const STEP = 1.4;
const NUDGE_PX = 80;

// For all links to images within `root`, also those that come later.
export function openZoom(root, dialog) {
  let opened = null;
  const stage = dialog.querySelector(".zoom__stage");
  const image = stage.querySelector("img");
  const fingers = new Map();
  let view = { scale: 1, x: 0, y: 0 };

  const draw = () => (image.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`);

  function set(scale, x, y) {
    // Part of the image always stays in the middle.
    const roomX = (image.offsetWidth * scale) / 2;
    const roomY = (image.offsetHeight * scale) / 2;
    const within = (value, room) => Math.max(-room, Math.min(room, value));
    view = scale <= 1 ? { scale: 1, x: 0, y: 0 } : { scale, x: within(x, roomX), y: within(y, roomY) };
    draw();
  }

  function zoomBy(factor, at = null) {
    const scale = Math.max(1, Math.min(MOST, view.scale * factor));
    const box = stage.getBoundingClientRect();
    const x = at ? at.x - box.left - box.width / 2 : 0;
    const y = at ? at.y - box.top - box.height / 2 : 0;
    const grown = scale / view.scale;
    set(scale, x - (x - view.x) * grown, y - (y - view.y) * grown);
  }

  const moveBy = (x, y) => set(view.scale, view.x + x, view.y + y);

  const actions = {
    in: () => zoomBy(STEP),
    out: () => zoomBy(1 / STEP),
    fit: () => set(1, 0, 0),
    close: () => dialog.close(),
  };
  const keys = {
    "+": actions.in, "=": actions.in, "-": actions.out, "−": actions.out, 0: actions.fit,
    ArrowLeft: () => moveBy(NUDGE_PX, 0), ArrowRight: () => moveBy(-NUDGE_PX, 0),
    ArrowUp: () => moveBy(0, NUDGE_PX), ArrowDown: () => moveBy(0, -NUDGE_PX),
  };

  const linkOf = (event) => event.target.closest("[data-enlarge]");

  root.addEventListener("keydown", (event) => {
    const link = event.key === " " && linkOf(event);
    if (!link) return;
    event.preventDefault();
    link.click();
  });
  root.addEventListener("click", (event) => {
    const link = linkOf(event);
    if (!link || event.defaultPrevented) return;
    event.preventDefault();
    opened = link;
    // Until another image has come, the last one must not stand for it.
    if (image.src !== link.href) image.removeAttribute("src");
    image.src = link.href;
    actions.fit();
    dialog.showModal();
    stage.focus();
  });

  dialog.addEventListener("click", (event) => actions[event.target.closest("[data-zoom]")?.dataset.zoom]?.());
  dialog.addEventListener("close", () => opened?.focus());
  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  stage.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY / 400), event);
    },
    { passive: false },
  );
  stage.addEventListener("dblclick", (event) => (view.scale > 1 ? actions.fit() : zoomBy(STEP ** 3, event)));

  stage.addEventListener("pointerdown", (event) => {
    stage.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
  });
  stage.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const other = [...fingers.values()].find(({ pointerId }) => pointerId !== event.pointerId);
    if (other) {
      const apart = (point) => Math.hypot(point.clientX - other.clientX, point.clientY - other.clientY);
      const middle = { x: (event.clientX + other.clientX) / 2, y: (event.clientY + other.clientY) / 2 };
      zoomBy(apart(event) / Math.max(1, apart(before)), middle);
    } else {
      moveBy(event.clientX - before.clientX, event.clientY - before.clientY);
    }
    fingers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, ({ pointerId }) => fingers.delete(pointerId));
}
