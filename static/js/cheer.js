// What a find looks and sounds like. Nothing moves for who asked for that, and nothing sounds before it is switched on.

import { recall, remember } from "./page.js";

const WANTED = "crosslens.game-sound";
const PIECES = 36;
const COLOURS = ["--accent", "--cheer-1", "--cheer-2", "--cheer-3"];
const MOST_MS = 1800;

// Frequency in Hz, seconds from the start, seconds it lasts.
const TUNES = {
  found: [[523, 0, 0.12], [659, 0.09, 0.12], [784, 0.18, 0.14], [1047, 0.28, 0.3]],
  near: [[587, 0, 0.1], [740, 0.1, 0.18]],
  far: [[262, 0, 0.12]],
  over: [[330, 0, 0.14], [262, 0.14, 0.24]],
};

export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Let pieces of paper fly from the middle of `from`. */
export function throwConfetti(from) {
  if (isStill()) return;
  const { left, top, width, height } = from.getBoundingClientRect();
  const layer = document.createElement("div");
  layer.className = "confetti";
  layer.setAttribute("aria-hidden", "true");
  document.body.append(layer);
  const paper = getComputedStyle(document.documentElement);
  for (let number = 0; number < PIECES; number++) {
    const piece = document.createElement("i");
    const angle = Math.PI * (1.1 + 0.8 * Math.random());
    const far = 90 + 190 * Math.random();
    const x = Math.cos(angle) * far;
    const y = Math.sin(angle) * far;
    piece.style.left = `${left + width / 2}px`;
    piece.style.top = `${top + height / 2}px`;
    piece.style.background = paper.getPropertyValue(COLOURS[number % COLOURS.length]);
    layer.append(piece);
    piece.animate(
      [
        { transform: "translate(0, 0)", opacity: 1 },
        { transform: `translate(${x}px, ${y}px) rotate(${300 * Math.random()}deg)`, opacity: 1, offset: 0.4, easing: "ease-in" },
        { transform: `translate(${1.3 * x}px, ${y + 360}px) rotate(${900 * Math.random()}deg)`, opacity: 0 },
      ],
      { duration: MOST_MS * (0.6 + 0.4 * Math.random()), easing: "cubic-bezier(0.2, 0.8, 0.4, 1)", fill: "forwards" },
    );
  }
  setTimeout(() => layer.remove(), MOST_MS);
}

/** Let the number in `element` run up from `before`. */
export function countUp(element, before, after) {
  if (isStill() || before >= after) return;
  const begun = performance.now();
  const step = (now) => {
    const part = Math.min(1, (now - begun) / 700);
    element.textContent = Math.round(before + (after - before) * (1 - (1 - part) ** 3));
    if (part < 1 && element.isConnected) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

let audio = null;
let isWanted = recall(WANTED) === "on";

export function play(tune) {
  if (!isWanted) return;
  audio ??= new AudioContext();
  audio.resume();
  for (const [frequency, after, lasts] of TUNES[tune]) {
    const from = audio.currentTime + after;
    const tone = new OscillatorNode(audio, { type: "triangle", frequency });
    const loud = new GainNode(audio, { gain: 0 });
    loud.gain.setValueAtTime(0, from);
    loud.gain.linearRampToValueAtTime(0.12, from + 0.015);
    loud.gain.exponentialRampToValueAtTime(0.0005, from + lasts);
    tone.connect(loud).connect(audio.destination);
    tone.start(from);
    tone.stop(from + lasts);
  }
}

/** Make `button` switch the sound on and off, and remember it. */
export function offerSound(button) {
  if (!("AudioContext" in window)) return;
  const show = () => button.setAttribute("aria-pressed", isWanted);
  button.hidden = false;
  show();
  button.addEventListener("click", () => {
    isWanted = !isWanted;
    show();
    play("near");
    remember(WANTED, isWanted ? "on" : "off");
  });
}
