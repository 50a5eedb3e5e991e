// The field of a caption, on screen 2 and on the review: saved as it is typed, with its state, its length, warnings, and
// the choice between two texts. It is there for one image after another: `begin` opens it for one, `end` leaves it.

import { announce, signInLink } from "./page.js";
import { Kept, Saver } from "./saver.js";
import { WritingMarks } from "./writing_marks.js";

const LONGEST = 1000;
const COUNT_FROM = 900;
// Safari ends a composition before it tells of the Enter that ended it.
const AFTER_COMPOSITION_MS = 100;

const lines = (text) => text.replaceAll("\r\n", "\n");
const lengthOf = (text) => [...text.trim().normalize("NFC")].length;

/** Why a text cannot be submitted, as far as this device can tell, or "". */
export function faultOf(text, { textEmpty, textTooLong }) {
  const length = lengthOf(text);
  if (length === 0) return textEmpty;
  return length > LONGEST ? textTooLong : "";
}

/** Show what is wrong with a text, or that nothing is. */
export function showFault(place, message) {
  const error = Object.assign(document.createElement("p"), { className: place.dataset.error, textContent: message });
  error.setAttribute("role", "alert");
  place.replaceChildren(...(message ? [error] : []));
}

export function showWarnings(list, warnings) {
  const said = warnings.map(({ message }) => message);
  // The same again is not said again.
  if (said.join("\n") === [...list.children].map((line) => line.textContent).join("\n")) return;
  list.replaceChildren(...said.map((textContent) => Object.assign(document.createElement("li"), { textContent })));
}

export class CaptionField {
  state = "saved";
  saver = null;
  // Resolves once nothing is on its way of the text that was left last.
  wayOfLast = Promise.resolve();
  #form;
  #field;
  #texts;
  #time;
  #marks;
  #root;
  #onSaved;
  #kept;
  #isSentBack = false;
  // The text when somebody began to leave it. What is typed from then on is not for this image.
  #left = null;
  // What the server says against the text, "" if nothing or not known yet.
  #fault = "";

  /** `onEnter()` is called for Enter, `onSaved(answer, before)` when the server has the text; `before` is the last state. */
  constructor(form, { time, onEnter, onSaved }) {
    this.#form = form;
    this.#field = form.elements.text;
    this.#texts = form.dataset;
    this.#time = time;
    this.#marks = new WritingMarks(this.#field);
    this.#onSaved = onSaved;
    this.#listen(onEnter);
  }

  /** Begin with the image that the form is for now. `root` has the errors and warnings, if the form has not; `typedOn`
   * is added to its text. */
  begin(root = this.#form, typedOn = "") {
    this.#root = root;
    const { user, batch, position, draft } = this.#texts;
    const stored = lines(this.#field.dataset.stored);
    const typed = lines(this.#field.value);
    const revision = Number(this.#form.elements.revision.value);
    this.#isSentBack = typed !== stored;
    this.#marks.look(this.#texts.marks ? position : null);
    this.#kept = new Kept(user, batch, position);
    // A page that was kept on this device, or on its way already, has an older text than the server.
    const later = this.#isSentBack ? null : this.#kept.laterThan(revision);
    if (later) this.#field.value = later.text;
    this.saver = new Saver({
      url: draft,
      revision: later?.revision ?? revision,
      text: later?.text ?? stored,
      isAutosaved: later?.isAutosaved ?? Boolean(this.#texts.autosaved),
      kept: this.#kept,
      time: { take: () => this.#time.take(position), putBack: (ms) => this.#time.putBack(position, ms) },
      marks: () => this.#marks.of(position),
      show: (name, details) => this.#show(name, details),
    });
    this.#time.look(position);
    this.state = "saved";
    this.#fault = "";
    this.#part("state").dataset.state = "";
    this.#part("state").replaceChildren();
    this.#part("conflict").hidden = true;
    this.#describe();
    // Typed before this script was there. What a form was refused for waits until it is mended.
    if (this.#isSentBack && !this.#error) this.saver.change(typed);
    this.restore();
    if (typedOn) {
      this.#field.value += typedOn;
      this.saver.change(this.text);
    }
    this.#grow();
    this.#count();
    this.#field.setSelectionRange(this.#field.value.length, this.#field.value.length);
  }

  /** Bring back what this device kept and the server lacks. */
  restore() {
    if (this.#isSentBack || this.saver.isDirty || this.saver.conflict) return;
    const restored = this.saver.restore();
    if (restored === null) return;
    this.#field.value = restored;
    this.#count();
    announce(this.#texts.textRestored);
  }

  /**
   * Begin to leave the text: resolves to whether it is "saved" on the server, "kept" on this device to be sent, or null.
   * `end` or `stay` must follow. With `confirms`, the text is a caption from then on. If `following` resolves to something
   * that can be shown now, the server is not waited for, unless it refused this text before.
   */
  async settle({ confirms = false, following = null } = {}) {
    // Typed while it was settled before.
    if (this.isTypedOn) this.saver.change(this.text);
    this.#left = this.text;
    const mayGo = (await following) && !this.saver.conflict && ["saved", "offline", "gone"].includes(this.state);
    if (mayGo && this.saver.keep({ confirms })) return "kept";
    if (confirms) this.saver.mustConfirm = true;
    if (await this.saver.flush({ withTime: true })) return "saved";
    return ["offline", "gone"].includes(this.state) && this.saver.isKept ? "kept" : null;
  }

  stay() {
    if (this.isTypedOn) this.saver.change(this.text);
    this.#left = null;
    this.focus();
  }

  /** Leave the image; gives what was typed since `settle`. */
  end() {
    const left = this.#left ?? this.text;
    this.#left = null;
    this.wayOfLast = this.saver.end();
    this.saver = null;
    this.#time.look(null);
    this.#marks.look(null);
    return this.text.startsWith(left) ? this.text.slice(left.length) : "";
  }

  /** Why the text cannot be submitted, or "". */
  get fault() {
    return faultOf(this.text, this.#texts) || this.#fault;
  }

  get text() {
    return this.#field.value;
  }

  /** Whether something was typed since `settle`. */
  get isTypedOn() {
    return this.#left !== null && this.#left !== this.text;
  }

  /** Show what the server says against the text. */
  refuse(fault) {
    this.#fault = fault;
    this.showFault();
  }

  /** Say what became of a text that was left: this one would fare alike. */
  tell(outcome, answer) {
    this.#show(outcome, answer);
  }

  showFault() {
    showFault(this.#part("error"), this.fault);
    this.#describe();
  }

  focus() {
    this.#field.focus({ preventScroll: true });
  }

  get hasFocus() {
    return document.activeElement === this.#field;
  }

  get hasError() {
    return Boolean(this.#error);
  }

  get #error() {
    return this.#part("error").firstElementChild;
  }

  #part(name) {
    return this.#form.querySelector(`[data-${name}]`) ?? this.#root.querySelector(`[data-${name}]`);
  }

  #show(name, details = {}) {
    const texts = this.#texts;
    const said = {
      saving: texts.textSaving,
      saved: texts.textSaved,
      offline: details.message ?? (this.saver.isKept ? texts.textOffline : texts.textOfflineUnkept),
      "signed-out": this.saver.isKept ? texts.textSignedOut : details.message,
      conflict: texts.textConflict,
      gone: details.message,
      closed: details.message,
      refused: details.message,
      failed: texts.textFailed,
    }[name] ?? texts.textFailed;
    const state = this.#part("state");
    // Said again, it is left as it is: its link may have the focus.
    if (state.dataset.state !== name || state.firstChild?.textContent !== said) {
      state.dataset.state = name;
      state.replaceChildren(said);
      if (name === "signed-out") state.append(" ", signInLink(this.#form));
      if (["gone", "closed"].includes(name) && details.location) state.append(" ", link(details.location, texts.textClosedLink));
    }
    this.#part("conflict").hidden = name !== "conflict";
    if (name === "conflict") {
      this.#part("conflict-stored").textContent = details.text || "–";
      this.#part("conflict-mine").textContent = this.saver.text || "–";
    }
    const before = this.state;
    if (name === "saved") {
      if (details.warnings) this.#showAnswer(details);
      this.#onSaved(details, before);
    }
    if (name === "saving") return;
    if (name !== before) announce(said);
    this.state = name;
  }

  #showAnswer({ warnings, error }) {
    this.#fault = error;
    if (this.#error && !this.fault) this.showFault();
    showWarnings(this.#part("warnings"), warnings);
  }

  #describe() {
    const error = this.#error;
    if (error) error.id = "error";
    this.#field.setAttribute("aria-describedby", error ? "error how" : "how");
    if (error) this.#field.setAttribute("aria-invalid", "true");
    else this.#field.removeAttribute("aria-invalid");
  }

  #count() {
    const counter = this.#part("counter");
    const length = lengthOf(this.text);
    counter.hidden = length < COUNT_FROM;
    const isOver = length > LONGEST;
    counter.dataset.state = isOver ? "refused" : "";
    counter.textContent = isOver ? `${this.#texts.textOver} ${length - LONGEST}` : `${this.#texts.textLeft} ${LONGEST - length}`;
  }

  // Browsers that do not size fields by their text.
  #grow() {
    if (CSS.supports("field-sizing", "content")) return;
    const { style } = this.#field;
    style.blockSize = "auto";
    style.blockSize = `${this.#field.scrollHeight + this.#field.offsetHeight - this.#field.clientHeight}px`;
  }

  #listen(onEnter) {
    const field = this.#field;
    field.addEventListener("input", () => {
      if (this.#left !== null) return;
      this.#fault = "";
      this.#grow();
      this.saver.change(field.value);
      this.#count();
      if (this.#error && !this.#isSentBack && !this.fault) this.showFault();
    });
    field.addEventListener("blur", () => this.saver?.isDirty && this.saver.flush());
    this.#form.addEventListener("click", ({ target }) => {
      if (target.closest("[data-take-stored]")) this.#kept.clear();
      const choice = target.closest("[data-keep]")?.dataset.keep;
      if (choice) this.#choose(choice);
    });
    listenForEnter(field, onEnter);
  }

  #choose(choice) {
    if (choice === "mine") this.saver.keepMine();
    if (choice === "stored") {
      this.saver.takeStored();
      this.#field.value = this.saver.text;
    }
    this.#count();
    this.#field.focus();
  }
}

// Enter goes on, but the Enter that ends a composition only ends it.
function listenForEnter(field, onEnter) {
  let isComposing = false;
  let composedAt = -Infinity;
  let isShifted = false;
  field.addEventListener("compositionstart", () => (isComposing = true));
  field.addEventListener("compositionend", () => {
    isComposing = false;
    composedAt = performance.now();
  });
  const isOfComposition = (event) =>
    event.isComposing || isComposing || event.keyCode === 229 || performance.now() - composedAt < AFTER_COMPOSITION_MS;
  field.addEventListener("keydown", (event) => {
    isShifted = event.shiftKey;
    if (event.key !== "Enter" || isShifted || event.altKey || isOfComposition(event)) return;
    event.preventDefault();
    if (!event.repeat) onEnter();
  });
  // Keyboards on a screen may tell of no key at all, only of the line break they are about to make.
  field.addEventListener("beforeinput", (event) => {
    if (isShifted || !["insertLineBreak", "insertParagraph"].includes(event.inputType)) return;
    event.preventDefault();
    if (!isOfComposition(event)) onEnter();
  });
}

const link = (href, text) => Object.assign(document.createElement("a"), { href, textContent: text });
