/**
 * Regular expressions of schemas, matched in linear time. The engine of JavaScript tries alternatives one after the other: a
 * pattern such as `(a+)+$` would hold a push for hours. This one follows all alternatives at once (Thompson's method). The
 * characters of a class are left to the engine, one at a time.
 *
 * @module
 */

/** A pattern has at most this many instructions; `{1,1000}` takes one for each repetition. */
const MAX_INSTRUCTIONS = 5_000;
const MAX_CHARS = 2_000;

type Instruction =
  | { readonly op: "char"; readonly accepts: (char: string) => boolean }
  | { readonly op: "fork"; to: readonly number[] }
  | { readonly op: "assert"; readonly holds: (chars: readonly string[], at: number, steps: Steps) => boolean }
  | { readonly op: "match" };

type Program = readonly Instruction[];

/** Counts the steps of a check. */
export interface Steps {
  /** @throws {RangeError} if the check has taken more steps than it may */
  count(): void;
}

/** Returns whether a text has a match. */
export type Pattern = (text: string, steps: Steps) => boolean;

/**
 * Compiles a pattern of ECMAScript, with the flag `u`.
 *
 * @throws {SyntaxError} if it is invalid, too large, or needs backreferences, lookbehind or modifiers
 */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_CHARS) throw new SyntaxError(`more than ${MAX_CHARS} characters`);
  new RegExp(source, "u");
  const program = new Assembly().within(new Reader(source).alternatives());
  return (text, steps) => matches(program, [...text], 0, true, steps);
}

/** Adds instructions to a program. */
type Part = (program: Assembly) => void;

class Assembly {
  readonly #total: { instructions: number };
  readonly instructions: Instruction[] = [];

  /** @param total counts the instructions of all programs of a pattern */
  constructor(total = { instructions: 0 }) {
    this.#total = total;
  }

  get length(): number {
    return this.instructions.length;
  }

  add(instruction: Instruction): void {
    if (++this.#total.instructions > MAX_INSTRUCTIONS) throw new SyntaxError("too large");
    this.instructions.push(instruction);
  }

  /** Adds an instruction that continues at several places, which may be set later. */
  fork(...to: readonly number[]): { to: readonly number[] } {
    const fork = { op: "fork" as const, to };
    this.add(fork);
    return fork;
  }

  /** Returns the program of a part alone. */
  within(part: Part): Program {
    const inner = new Assembly(this.#total);
    part(inner);
    inner.add({ op: "match" });
    return inner.instructions;
  }
}

/** Reads a valid pattern. */
class Reader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  alternatives(): Part {
    const branches: Part[][] = [[]];
    while (this.#at < this.#source.length && this.#source[this.#at] !== ")") {
      if (this.#takes("|")) branches.push([]);
      else branches.at(-1)!.push(this.#term());
    }
    return (program) => {
      const start = program.fork();
      const ends = branches.map((parts) => {
        start.to = [...start.to, program.length];
        for (const part of parts) part(program);
        return program.fork();
      });
      for (const end of ends) end.to = [program.length];
    };
  }

  #takes(text: string): boolean {
    const found = this.#source.startsWith(text, this.#at);
    if (found) this.#at += text.length;
    return found;
  }

  #term(): Part {
    const atom = this.#atom();
    const [quantifier = "", , min, comma, max] = QUANTIFIER.exec(this.#source.slice(this.#at)) ?? [];
    this.#at += quantifier.length;
    if (quantifier === "") return atom;
    if (min === undefined) return repeat(atom, quantifier[0] === "+" ? 1 : 0, quantifier[0] === "?" ? 1 : Infinity);
    return repeat(atom, Number(min), max ? Number(max) : comma ? Infinity : Number(min));
  }

  #atom(): Part {
    if (this.#takes("(?=")) return this.#look(true);
    if (this.#takes("(?!")) return this.#look(false);
    const [named = ""] = /^\(\?<[^=!>]+>/.exec(this.#source.slice(this.#at)) ?? [];
    if (named !== "" && this.#takes(named) || this.#takes("(?:")) return this.#group();
    if (this.#takes("(?")) throw new SyntaxError("lookbehind and modifiers aren't supported");
    if (this.#takes("(")) return this.#group();
    if (this.#takes("^")) return assertion((_chars, at) => at === 0);
    if (this.#takes("$")) return assertion((chars, at) => at === chars.length);
    if (this.#takes("\\b")) return assertion(isBoundary);
    if (this.#takes("\\B")) return assertion((chars, at) => !isBoundary(chars, at));
    const [single] = SINGLE.exec(this.#source.slice(this.#at))!;
    this.#at += single.length;
    if (/^\\[1-9k]/.test(single)) throw new SyntaxError("backreferences aren't supported");
    const accepts = /^[\\[.]/.test(single) ? classOf(single) : (char: string) => char === single;
    return (program) => program.add({ op: "char", accepts });
  }

  #group(): Part {
    const part = this.alternatives();
    this.#at++; // The closing parenthesis.
    return part;
  }

  #look(expected: boolean): Part {
    const part = this.#group();
    return (outer) => {
      const program = outer.within(part);
      assertion((chars, at, steps) => matches(program, chars, at, false, steps) === expected)(outer);
    };
  }
}

function assertion(holds: Extract<Instruction, { op: "assert" }>["holds"]): Part {
  return (program) => program.add({ op: "assert", holds });
}

function repeat(part: Part, min: number, max: number): Part {
  return (program) => {
    for (let i = 0; i < min; i++) part(program);
    const skips: { to: readonly number[] }[] = [];
    if (max === Infinity) {
      const loop = program.length;
      skips.push(program.fork(loop + 1));
      part(program);
      program.fork(loop);
    }
    for (let i = min; i < max && max !== Infinity; i++) {
      skips.push(program.fork(program.length + 1));
      part(program);
    }
    for (const skip of skips) skip.to = [...skip.to, program.length];
  };
}

const QUANTIFIER = /^([*+?]|\{(\d+)(,?)(\d*)\})\??/;

/** The syntax of one character: a class, an escape, or the character itself. */
const SINGLE =
  /^(?:\[(?:\\.|[^\]\\])*\]|\\u\{[^}]*\}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[pP]\{[^}]*\}|\\c[A-Za-z]|\\k|\\[^]|[^])/u;

const WORD = /^\w$/;

/** Returns whether a character is in a class, with the answers for ASCII kept. */
function classOf(source: string): (char: string) => boolean {
  const one = new RegExp(`^${source}$`, "u");
  const known: (boolean | undefined)[] = [];
  return (char) => {
    const code = char.charCodeAt(0);
    return code < 128 ? known[code] ??= one.test(char) : one.test(char);
  };
}

function isBoundary(chars: readonly string[], at: number): boolean {
  return WORD.test(chars[at - 1] ?? "") !== WORD.test(chars[at] ?? "");
}

/** Returns whether a program matches at a place, or at any later one. */
function matches(program: Program, chars: readonly string[], from: number, anywhere: boolean, steps: Steps): boolean {
  let pending: number[] = [];
  let next: number[] = [];
  /** For each instruction, the last place at which it was followed, counted from 1. */
  const seen = new Uint32Array(program.length);
  for (let at = from;; at++) {
    if (anywhere || at === from) pending.push(0);
    while (pending.length > 0) {
      const index = pending.pop()!;
      if (seen[index] === at + 1) continue;
      seen[index] = at + 1;
      steps.count();
      const instruction = program[index]!;
      if (instruction.op === "match") return true;
      if (instruction.op === "fork") { for (const to of instruction.to) pending.push(to); }
      else if (instruction.op === "assert") {
        if (instruction.holds(chars, at, steps)) pending.push(index + 1);
      } else if (at < chars.length && instruction.accepts(chars[at]!)) next.push(index + 1);
    }
    if (at >= chars.length || next.length === 0 && !anywhere) return false;
    [pending, next] = [next, pending];
  }
}
