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

  /** Whether what stands under this name is a secret. */
  hides(name: string): boolean {
    return this.#names.test(name);
  }

  /** A value without secrets, and without anything deeper than can be shown. */
  value(value: unknown, depth = 0): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= DEEPEST) return "…";
    if (Array.isArray(value)) return value.map((one) => this.value(one, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, this.hides(name) ? MASKED : this.value(one, depth + 1)]),
    );
  }

  /** A payload without secrets. The last argument of an encrypted job is one. */
  payload<P extends { readonly args: readonly unknown[]; readonly encrypt?: unknown }>(payload: P): P {
    const masked = this.value(payload) as P;
    if (payload.encrypt !== true) return masked;
    return { ...masked, args: masked.args.with(-1, MASKED) };
  }

  /** What was edited under the mask, with the original's secrets where the dots still stand. */
  restore(edited: unknown, original: unknown, depth = 0): unknown {
    if (edited === MASKED) return original ?? edited;
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
