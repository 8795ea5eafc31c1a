/**
 * Masks secrets: values of fields with a name such as `password`, and texts that look like a key.
 *
 * @module
 */

/** Replaces a secret. */
export const MASKED = "••••••";

/** Patterns of field names whose values are secrets. */
const NAMES = [
  "passw(or)?d",
  "passphrase",
  "secret",
  "token",
  "api[_-]?key",
  "private[_-]?key",
  "access[_-]?key",
  "authorization",
  "credential",
  "cookie",
  "credit[_-]?card",
  "card[_-]?number",
  "cvv",
  "ssn",
];

/** Patterns of texts that are secrets, and the replacement. Every repetition has a bound: texts may be hostile. */
const LOOKS: readonly (readonly [look: RegExp, shown: string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, MASKED],
  [/\beyJ[\w-]{8,1000}\.[\w-]{8,1000}\.[\w-]{0,1000}/g, MASKED],
  [/\b(AKIA|ASIA)[A-Z0-9]{16}\b/g, MASKED],
  [/\b(ghp|gho|ghs|github_pat|glpat|xox[abprs]|sk_live|rk_live|sk-ant|sk-proj)[_-][\w-]{10,200}/g, MASKED],
  [/\b(Bearer|Basic) [\w+/=.~-]{8,4000}/gi, `$1 ${MASKED}`],
  [/(:\/\/[^\s/:@]{0,100}:)[^\s/@]{1,200}@/g, `$1${MASKED}@`],
];

/** Characters of a text that are shown. Bounds the time of the search for secrets. */
const MAX_TEXT_CHARS = 20_000;

/** Levels of nesting that are shown. */
const MAX_DEPTH = 64;
/** Values of one payload, result or entry that are shown. Masking and printing a value takes microseconds. */
export const MAX_VALUES = 20_000;
/** Replaces values beyond these bounds. */
const CUT = "…";

/** How many values may still be shown. */
interface Budget {
  left: number;
}

/** A name and the beginning of its value, in JSON. */
const MEMBER = /"((?:[^"\\]|\\.){0,500})"\s{0,20}:\s{0,20}("(?:[^"\\]|\\.)*"?|[[{]|[^",\]}\s]{0,2000})/g;

/** Masks the secrets in values and texts. */
export class Mask {
  readonly #names: RegExp;

  /** @param more names of secret fields in addition to the built-in ones: parts of names, in any case */
  constructor(more: readonly string[] = []) {
    const escaped = more.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    this.#names = new RegExp([...NAMES, ...escaped].join("|"), "i");
  }

  /** Masks texts that look like a secret, and cuts the result to 20,000 characters. */
  text(text: string): string {
    let masked = text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text;
    for (const [look, shown] of LOOKS) masked = masked.replace(look, shown);
    return masked;
  }

  /** Masks the text of a payload that isn't parsed: values that look like a secret, and those of secret fields. */
  json(text: string): string {
    const cut = this.text(text);
    let shown = "";
    let copied = 0;
    for (const { 0: member, 1: name, 2: value, index } of cut.matchAll(MEMBER)) {
      if (!this.hides(unescaped(name!))) continue;
      shown += `${cut.slice(copied, index)}"${name}":"${MASKED}"`;
      copied = index + member.length;
      // The end of an object or an array can't be found in a text that is cut.
      if (value === "{" || value === "[") return shown + CUT;
    }
    return shown + cut.slice(copied);
  }

  /** Returns whether the value of a field with this name is a secret. */
  hides(name: string): boolean {
    return this.#names.test(name);
  }

  /** Masks a value, up to 20,000 values and 64 levels; `…` replaces the rest. */
  value(value: unknown): unknown {
    return this.#value(value, 0, { left: MAX_VALUES });
  }

  /** Returns whether {@linkcode value} shows all of a value. Only then {@linkcode restore} can undo the mask. */
  showsWhole(value: unknown): boolean {
    let count = 0;
    let level: object[] = isObject(value) ? [value] : [];
    for (let depth = 0; level.length > 0; depth++) {
      if (depth >= MAX_DEPTH) return false;
      const next: object[] = [];
      for (const one of level) {
        for (const inner of Object.values(one)) {
          if (++count > MAX_VALUES) return false;
          if (isObject(inner)) next.push(inner);
        }
      }
      level = next;
    }
    return true;
  }

  /**
   * Masks a payload. The last argument of an encrypted job is a secret. Fields that aren't arrays or objects are always
   * shown, however many values the fields before them have.
   */
  payload<P extends { readonly args: readonly unknown[]; readonly encrypt?: unknown }>(payload: P): P {
    const budget = { left: MAX_VALUES };
    const fields = Object.entries(payload).slice(0, MAX_VALUES);
    const masked = Object.fromEntries(
      fields.map(([name, one]) => [name, this.hides(name) ? MASKED : this.#value(one, 1, budget)]),
    ) as unknown as P;
    const args: readonly unknown[] = Array.isArray(masked.args) ? masked.args : [masked.args];
    return { ...masked, args: payload.encrypt === true && args.length > 0 ? args.with(-1, MASKED) : args };
  }

  #value(value: unknown, depth: number, budget: Budget): unknown {
    if (typeof value === "string") return this.text(value);
    if (!isObject(value)) return value;
    if (depth >= MAX_DEPTH || budget.left <= 0) return CUT;
    if (Array.isArray(value)) {
      const shown: unknown[] = [];
      for (const one of value) {
        if (budget.left-- <= 0) return [...shown, CUT];
        shown.push(this.#value(one, depth + 1, budget));
      }
      return shown;
    }
    const shown: [string, unknown][] = [];
    for (const name of Object.keys(value)) {
      if (budget.left-- <= 0) return Object.fromEntries([...shown, [CUT, CUT]]);
      const one = (value as Record<string, unknown>)[name];
      shown.push([name, this.hides(name) ? MASKED : this.#value(one, depth + 1, budget)]);
    }
    return Object.fromEntries(shown);
  }

  /** Returns an edited value with the original's secrets in place of the remaining masks. */
  restore(edited: unknown, original: unknown, depth = 0): unknown {
    if (edited === MASKED) return original ?? edited;
    // The original was too deep to be shown.
    if (edited === CUT && isObject(original)) return original;
    if (typeof edited === "string" && typeof original === "string" && edited === this.text(original)) return original;
    if (typeof edited !== "object" || edited === null || typeof original !== "object" || original === null) {
      return edited;
    }
    if (depth >= MAX_DEPTH) return edited;
    const before = original as Record<string, unknown>;
    const inner = (one: unknown, key: string | number) =>
      this.restore(one, Object.hasOwn(before, key) ? before[key] : undefined, depth + 1);
    if (Array.isArray(edited)) return edited.map(inner);
    return Object.fromEntries(Object.entries(edited).map(([name, one]) => [name, inner(one, name)]));
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function unescaped(name: string): string {
  try {
    return JSON.parse(`"${name}"`);
  } catch {
    return name;
  }
}
