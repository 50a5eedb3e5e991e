// What is noted while a caption is written, if its writer has agreed to it: how many characters were pasted, and the
// longest time that the page was out of sight. Nothing is noted of what is typed.

const lengthOf = (text) => [...text.trim()].length;
const selected = (field) =>
  document.activeElement === field ? field.value.slice(field.selectionStart, field.selectionEnd) : getSelection().toString();

export class WritingMarks {
  #marks = new Map();
  #position = null;
  #hiddenAt = null;
  // What was copied on this page is the writer's own, or the platform's.
  #own = new Set();

  constructor(field) {
    for (const sign of ["copy", "cut"]) document.addEventListener(sign, () => this.#own.add(selected(field).trim()));
    // Only the clipboard: keyboards on a screen, dictation and spell-checkers insert whole words by other events.
    field.addEventListener("paste", ({ clipboardData }) => this.#notePasted(clipboardData?.getData("text/plain") ?? ""));
    document.addEventListener("visibilitychange", () => this.#noteAbsence());
  }

  /** From now on, it is about the caption at `position`; about none if that is null. */
  look(position) {
    this.#position = position;
    this.#hiddenAt = document.visibilityState === "hidden" ? Date.now() : null;
  }

  /** What to send with the caption at `position`: all of this visit, so that what is sent again counts once. */
  of(position) {
    return this.#marks.get(position) ?? {};
  }

  #notePasted(text) {
    if (!this.#own.has(text.trim())) this.#note((marks) => ({ pasted_characters: marks.pasted_characters + lengthOf(text) }));
  }

  #noteAbsence() {
    if (document.visibilityState === "hidden") this.#hiddenAt = Date.now();
    else if (this.#hiddenAt !== null) {
      const ms = Math.max(0, Date.now() - this.#hiddenAt);
      this.#hiddenAt = null;
      this.#note((marks) => ({ longest_absence_ms: Math.max(marks.longest_absence_ms, ms) }));
    }
  }

  #note(change) {
    if (this.#position === null) return;
    const marks = this.#marks.get(this.#position) ?? { pasted_characters: 0, longest_absence_ms: 0 };
    this.#marks.set(this.#position, { ...marks, ...change(marks) });
  }
}
