/**
 * Bytes of a terminal → keys by name.
 *
 * @module
 */

/** A key: a character, a name of {@linkcode NAMED}, `ctrl-` and a letter, or `paste:` and the pasted text. */
export type Key = string;

const NAMED: Readonly<Record<string, Key>> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\x1b": "escape",
  "\x7f": "backspace",
  "\b": "backspace",
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  "[H": "home",
  "[F": "end",
  "[1~": "home",
  "[4~": "end",
  "[7~": "home",
  "[8~": "end",
  "[5~": "page-up",
  "[6~": "page-down",
  "[Z": "back-tab",
};

/** Longer text is dropped: no escape sequence is this long. */
const MAX_SEQUENCE_CHARS = 32;
/** Longer pasted text is dropped: no filter is this long. */
const MAX_PASTE_CHARS = 10_000;
const PASTE_BEGINS = "\x1b[200~";
const PASTE_ENDS = "\x1b[201~";

/** Reads keys, also from sequences that arrive in pieces. */
export class KeyReader {
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** Returns the keys that these bytes complete. An escape as the last byte is the Escape key. */
  read(bytes: Uint8Array): Key[] {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    const keys: Key[] = [];
    while (this.#rest !== "") {
      const [length, key] = first(this.#rest);
      if (length === 0) break;
      this.#rest = this.#rest.slice(length);
      if (key !== undefined) keys.push(key);
    }
    return keys;
  }
}

/** Returns the length of the first key's text (0: incomplete), and the key; undefined if it is unknown. */
function first(text: string): [length: number, key?: Key | undefined] {
  if (text.startsWith(PASTE_BEGINS)) {
    const end = text.indexOf(PASTE_ENDS);
    if (end < 0) return text.length > MAX_PASTE_CHARS ? [text.length] : [0];
    return [end + PASTE_ENDS.length, `paste:${text.slice(PASTE_BEGINS.length, end)}`];
  }
  // An escape sequence: `ESC [ … letter`, or `ESC O letter` for the same keys in another mode.
  // deno-lint-ignore no-control-regex -- it matches an escape
  const sequence = /^\x1b[[O]([0-9;?]*)([^0-9;?])/.exec(text);
  if (sequence !== null) {
    const [whole, numbers, last] = sequence;
    return [whole.length, NAMED[`[${last === "~" ? numbers!.split(";")[0] : ""}${last}`]];
  }
  // deno-lint-ignore no-control-regex -- it matches an escape
  if (/^\x1b[[O][0-9;?]*$/.test(text)) return text.length > MAX_SEQUENCE_CHARS ? [text.length] : [0];
  const point = String.fromCodePoint(text.codePointAt(0)!);
  const code = point.codePointAt(0)!;
  const named = NAMED[point];
  if (named !== undefined) return [point.length, named];
  return [point.length, code < 32 ? `ctrl-${String.fromCharCode(code + 96)}` : point];
}
