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

/** A pattern of texts that are secrets. */
interface Look {
  /**
   * Takes time in proportion to the text, however hostile: repetitions have a bound, and a match can't begin in the middle of
   * the characters that its repetitions accept. Otherwise each of them is a beginning, and is searched to its end.
   */
  readonly look: RegExp;
  readonly shown: string;
  /** Texts whose repetition takes the longest to search: many beginnings, no end. */
  readonly worst: readonly string[];
}

/** The patterns of secrets. */
export const LOOKS: readonly Look[] = [
  {
    look: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
    shown: MASKED,
    worst: ["-----BEGIN ", "-----BEGIN PRIVATE KEY", "-----END PRIVATE KEY-"],
  },
  {
    look: /(?<![\w-])eyJ[\w-]{8,1000}\.[\w-]{8,1000}\.[\w-]{0,1000}/g,
    shown: MASKED,
    worst: ["eyJ-", "eyJaaaaaaaaa.", `eyJ${"-".repeat(998)}.`],
  },
  { look: /\b(AKIA|ASIA)[A-Z0-9]{16}\b/g, shown: MASKED, worst: ["AKIA", "AKIA0123456789ABCDEF_", "AKIA012345 "] },
  {
    look: /\b(ghp|gho|ghs|github_pat|glpat|xox[abprs]|sk_live|rk_live|sk-ant|sk-proj)[_-][\w-]{10,200}/g,
    shown: MASKED,
    worst: ["ghp-", "sk-ant-.", "github_pat_ "],
  },
  // The secrets of endpoints and of accounts, and tokens of this program.
  {
    look: /\b(whsec_[\w+/=-]{8,400}|jobs_[\w-]{32}(?![\w-])|scrypt\$[\w-]{2,4}\$[\w-]{22}\$[\w-]{43})/g,
    shown: MASKED,
    worst: ["whsec_ ", "whsec_a", "jobs_", "jobs_a ", "scrypt$15p3$", "scrypt$"],
  },
  // URLs that are the permission to call them.
  {
    look: /(:\/\/hooks\.slack\.com\/)[\w/-]{1,400}/g,
    shown: `$1${MASKED}`,
    worst: ["://hooks.slack.com/", "://hooks.slack.com/ "],
  },
  {
    look: /(:\/\/(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/(?:v\d{1,3}\/)?webhooks\/)[\w/-]{1,400}/g,
    shown: `$1${MASKED}`,
    worst: ["://discord.com/api/webhooks/", "://a.discord", "://discordapp.com/api/v1/"],
  },
  {
    look: /\b(Bearer|Basic) [\w+/=.~-]{8,4000}/gi,
    shown: `$1 ${MASKED}`,
    worst: ["Bearer ", "basic abcdefg ", "Basic."],
  },
  {
    look: /(:\/\/[^\s/:@]{0,100}:)[^\s/@]{1,200}@/g,
    shown: `$1${MASKED}@`,
    worst: ["://", "://a:", ":// :", `://a:${"b".repeat(200)}`],
  },
];

/**
 * A name, what follows it, and its value in a log line, in the query of an address, or in JSON within a line: `password=hunter2`,
 * `?token=abc`, `{"token":"abc"}`. A name begins where no other one can, so that each character is searched once.
 */
const PAIRS = [
  /(?<![\w.-])([\w.-]{1,100})(=)("(?:[^"\\]|\\.){0,2000}"?|[^\s&;,"'#<>]{1,2000})/g,
  /(?<=[?&;])([\w.-]{1,100})(=)([^\s&;"'#<>]{1,2000})/g,
  /(?<=[{,]")([\w.-]{1,100})(":)("(?:[^"\\]|\\.){0,2000}"?|[\w.+-]{1,2000})/g,
];

/** Characters of one text that are shown. */
const MAX_TEXT_CHARS = 20_000;
/** A secret that begins within a text that is cut ends within this many characters. */
const MAX_SECRET_CHARS = 5_000;
/** Characters of the texts and names of one payload, result or entry that are searched for secrets, and shown. */
export const MAX_CHARS = 250_000;

/** Levels of nesting that are shown. */
const MAX_DEPTH = 64;
/** Values of one payload, result or entry that are shown. Masking and printing a value takes microseconds. */
export const MAX_VALUES = 20_000;
/** Replaces values beyond these bounds. */
const CUT = "…";

/** How many values, and characters of texts, may still be shown. */
interface Budget {
  values: number;
  chars: number;
}

/** Returns whether a text or a name may still be shown. */
function spend(budget: Budget, { length }: string): boolean {
  const chars = Math.min(length, MAX_TEXT_CHARS);
  if (chars > budget.chars) return false;
  budget.chars -= chars;
  return true;
}

/**
 * A name and the beginning of its value, in JSON. An escaped quote begins no name: each of them would be searched to the end of
 * the text that they are in.
 */
const MEMBER = /(?<!\\)"((?:[^"\\]|\\.){0,500})"\s{0,20}:\s{0,20}("(?:[^"\\]|\\.)*"?|[[{]|[^",\]}\s]{0,2000})/g;

/** Masks the secrets in values and texts. */
export class Mask {
  #names: RegExp;
  readonly #isWhole: boolean;

  /**
   * @param more names of secret fields in addition to the built-in ones: parts of names, in any case
   * @param isWhole shows everything else, however large; by default, the time that masking takes is bounded
   */
  constructor(more: readonly string[] = [], isWhole = false) {
    this.#isWhole = isWhole;
    const escaped = more.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    this.#names = new RegExp([...NAMES, ...escaped].join("|"), "i");
  }

  /** Masks the same, and shows everything else, however large. */
  get whole(): Mask {
    if (this.#isWhole) return this;
    const whole = new Mask([], true);
    whole.#names = this.#names;
    return whole;
  }

  /** Masks texts that look like a secret, and values of secret names (`token=…`), and cuts the result to 20,000 characters. */
  text(text: string): string {
    let masked = this.#isWhole ? text : text.slice(0, MAX_TEXT_CHARS + MAX_SECRET_CHARS);
    for (const { look, shown } of LOOKS) masked = masked.replace(look, shown);
    for (const look of PAIRS) {
      masked = masked.replace(
        look,
        (pair, name, is) => !this.hides(name) ? pair : `${name}${is}${is === "=" ? MASKED : `"${MASKED}"`}`,
      );
    }
    return text.length > MAX_TEXT_CHARS && !this.#isWhole ? `${masked.slice(0, MAX_TEXT_CHARS)}${CUT}` : masked;
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

  /** Masks a value, up to 20,000 values, 250,000 characters and 64 levels; `…` replaces the rest. */
  value(value: unknown): unknown {
    return this.#value(value, 0, this.#newBudget());
  }

  /** Returns whether {@linkcode value} shows all of a value. Only then {@linkcode restore} can undo the mask. */
  showsWhole(value: unknown): boolean {
    const left = this.#newBudget();
    let level: object[] = isObject(value) ? [value] : [];
    for (let depth = 0; level.length > 0; depth++) {
      if (depth >= MAX_DEPTH) return false;
      const next: object[] = [];
      for (const one of level) {
        for (const [name, inner] of Object.entries(one)) {
          if (!Array.isArray(one) && !spend(left, name)) return false;
          if (left.values-- <= 0 || typeof inner === "string" && !spend(left, inner)) return false;
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
    const [flat, nested] = [this.#newBudget(), this.#newBudget()];
    const fields = Object.entries(payload).slice(0, this.#isWhole ? undefined : MAX_VALUES).filter(([name]) =>
      spend(flat, name)
    );
    const masked = Object.fromEntries(
      fields.map(([name, one]) => [
        name,
        this.hides(name) ? MASKED : this.#value(one, 1, isObject(one) ? nested : flat),
      ]),
    ) as unknown as P;
    const args: readonly unknown[] = Array.isArray(masked.args) ? masked.args : [masked.args];
    return { ...masked, args: payload.encrypt === true && args.length > 0 ? args.with(-1, MASKED) : args };
  }

  #newBudget(): Budget {
    return this.#isWhole ? { values: Infinity, chars: Infinity } : { values: MAX_VALUES, chars: MAX_CHARS };
  }

  #value(value: unknown, depth: number, budget: Budget): unknown {
    if (typeof value === "string") return spend(budget, value) ? this.text(value) : CUT;
    if (!isObject(value)) return value;
    if ((depth >= MAX_DEPTH && !this.#isWhole) || budget.values <= 0) return CUT;
    if (Array.isArray(value)) {
      const shown: unknown[] = [];
      for (const one of value) {
        if (budget.values-- <= 0) return [...shown, CUT];
        shown.push(this.#value(one, depth + 1, budget));
      }
      return shown;
    }
    const shown: [string, unknown][] = [];
    for (const name of Object.keys(value)) {
      if (budget.values-- <= 0 || !spend(budget, name)) return Object.fromEntries([...shown, [CUT, CUT]]);
      const one = (value as Record<string, unknown>)[name];
      shown.push([name, this.hides(name) ? MASKED : this.#value(one, depth + 1, budget)]);
    }
    return Object.fromEntries(shown);
  }

  /** Returns an edited value with the original's secrets in place of the remaining masks. */
  restore(edited: unknown, original: unknown, depth = 0): unknown {
    if (edited === MASKED) return original ?? edited;
    // The original was too deep or too long to be shown.
    if (edited === CUT && (isObject(original) || typeof original === "string")) return original;
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

const PLAIN = new Mask();

/** Masks an error that isn't a job's, such as that of a database or a host. */
export function maskError(text: string): string {
  return PLAIN.text(text);
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
