/**
 * What a terminal sends → keys by name.
 *
 * @module
 */

/** A key: a character, or a name of {@linkcode NAMED}, `ctrl-c` and the like; `paste:` and the text that was pasted. */
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

/** Longer than any sequence: what goes on is none. */
const MAX_SEQUENCE = 32;
/** More than anybody pastes into a filter. */
const MAX_PASTE = 10_000;
const PASTE_BEGINS = "\x1b[200~";
const PASTE_ENDS = "\x1b[201~";

/** Reads keys out of what arrives, also where a sequence arrives in pieces. */
export class KeyReader {
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** The keys that are complete with these bytes. An escape that ends them is the key. */
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

/** How long the first key's text is (0: not complete yet), and the key, if it is one that is known. */
function first(text: string): [length: number, key?: Key | undefined] {
  if (text.startsWith(PASTE_BEGINS)) {
    const end = text.indexOf(PASTE_ENDS);
    if (end < 0) return text.length > MAX_PASTE ? [text.length] : [0];
    return [end + PASTE_ENDS.length, `paste:${text.slice(PASTE_BEGINS.length, end)}`];
  }
  // An escape sequence: `ESC [ … letter`, or `ESC O letter` for the same keys in another mode.
  // deno-lint-ignore no-control-regex -- it begins with one
  const sequence = /^\x1b[[O]([0-9;?]*)([^0-9;?])/.exec(text);
  if (sequence !== null) {
    const [whole, numbers, last] = sequence;
    return [whole.length, NAMED[`[${last === "~" ? numbers!.split(";")[0] : ""}${last}`]];
  }
  // deno-lint-ignore no-control-regex -- it begins with one
  if (/^\x1b[[O][0-9;?]*$/.test(text)) return text.length > MAX_SEQUENCE ? [text.length] : [0];
  const point = String.fromCodePoint(text.codePointAt(0)!);
  const code = point.codePointAt(0)!;
  const named = NAMED[point];
  if (named !== undefined) return [point.length, named];
  return [point.length, code < 32 ? `ctrl-${String.fromCharCode(code + 96)}` : point];
}
