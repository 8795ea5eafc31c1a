/**
 * Secrets are not for the screen: what stands under a telling name, or looks like a key, is shown as dots.
 *
 * @module
 */

/** What is shown instead. */
export const MASKED = "••••••";

/** Names under which secrets stand, as far as they go in any system. */
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

/** What is a secret by its looks, and what to show for it. Every repetition has a bound: texts are hostile. */
const LOOKS: readonly (readonly [look: RegExp, shown: string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, MASKED],
  [/\beyJ[\w-]{8,1000}\.[\w-]{8,1000}\.[\w-]{0,1000}/g, MASKED],
  [/\b(AKIA|ASIA)[A-Z0-9]{16}\b/g, MASKED],
  [/\b(ghp|gho|ghs|github_pat|glpat|xox[abprs]|sk_live|rk_live|sk-ant|sk-proj)[_-][\w-]{10,200}/g, MASKED],
  [/\b(Bearer|Basic) [\w+/=.~-]{8,4000}/gi, `$1 ${MASKED}`],
  [/(:\/\/[^\s/:@]{0,100}:)[^\s/@]{1,200}@/g, `$1${MASKED}@`],
];

/** A text is shown this far: nobody reads further, and looking for secrets in it takes time. */
const LONGEST = 20_000;

/** Deeper values are not looked into, and are not shown. */
const DEEPEST = 64;
/** The most values that are shown of one payload, record or entry. Masking and printing a value takes microseconds. */
export const MAX_VALUES = 20_000;
/** Stands for what is not shown. */
const CUT = "…";

/** How many values may still be shown. */
interface Budget {
  left: number;
}

/** A name and the beginning of its value, in JSON. */
const MEMBER = /"((?:[^"\\]|\\.){0,500})"\s{0,20}:\s{0,20}("(?:[^"\\]|\\.)*"?|[[{]|[^",\]}\s]{0,2000})/g;

/** Masks what should not be shown. */
export class Mask {
  readonly #names: RegExp;

  /**
   * A mask.
   *
   * @param more names to mask besides the usual ones: parts of names, case counts not
   */
  constructor(more: readonly string[] = []) {
    const escaped = more.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    this.#names = new RegExp([...NAMES, ...escaped].join("|"), "i");
  }

  /** A text without what looks like a secret, cut where nobody reads on. */
  text(text: string): string {
    let masked = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
    for (const [look, shown] of LOOKS) masked = masked.replace(look, shown);
    return masked;
  }

  /** Returns a payload's text, where it isn't parsed, without secrets: in texts, and under telling names. */
  json(text: string): string {
    const cut = this.text(text);
    let shown = "";
    let copied = 0;
    for (const { 0: member, 1: name, 2: value, index } of cut.matchAll(MEMBER)) {
      if (!this.hides(unescaped(name!))) continue;
      shown += `${cut.slice(copied, index)}"${name}":"${MASKED}"`;
      copied = index + member.length;
      // A text that is cut doesn't tell where an object or an array ends.
      if (value === "{" || value === "[") return shown + CUT;
    }
    return shown + cut.slice(copied);
  }

  /** Whether what stands under this name is a secret. */
  hides(name: string): boolean {
    return this.#names.test(name);
  }

  /** Returns a value without secrets, up to 20,000 values and 64 levels; `…` stands for the rest. */
  value(value: unknown): unknown {
    return this.#value(value, 0, { left: MAX_VALUES });
  }

  /** Returns whether {@linkcode value} shows all of a value: then what was edited under the mask can be put back. */
  showsWhole(value: unknown): boolean {
    let count = 0;
    let level: object[] = isObject(value) ? [value] : [];
    for (let depth = 0; level.length > 0; depth++) {
      if (depth >= DEEPEST) return false;
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
   * Returns a payload without secrets. The last argument of an encrypted job is one. Of each field that is no array or
   * object the value is shown, however many values the fields before it have.
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
    if (depth >= DEEPEST || budget.left <= 0) return CUT;
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

  /** What was edited under the mask, with the original's secrets where the dots still stand. */
  restore(edited: unknown, original: unknown, depth = 0): unknown {
    if (edited === MASKED) return original ?? edited;
    // Too deep to be shown.
    if (edited === CUT && isObject(original)) return original;
    if (typeof edited === "string" && typeof original === "string" && edited === this.text(original)) return original;
    if (typeof edited !== "object" || edited === null || typeof original !== "object" || original === null) {
      return edited;
    }
    if (depth >= DEEPEST) return edited;
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
