/**
 * The kinds of values that job options accept: how a value is checked, stored, and read from a flag of `jobs push`.
 *
 * @module
 */
import { type Backoff, readBackoff } from "./backoff.ts";
import { InvalidPayload } from "./errors.ts";
import { GROUP_EXPECTED, groupExpected, isGroupOption } from "./group.ts";
import { JID } from "./jid.ts";
import { stringifyLossless } from "./json.ts";
import { isPriority, type Priority, PRIORITY_EXPECTED } from "./priority.ts";
import { isOn, readThrottle, THROTTLE_EXPECTED } from "./push_keys.ts";
import { QUEUE_NAME } from "./queue_name.ts";
import { ARGS_SCHEMA_EXPECTED, argsCheck, type ArgsSchema } from "./schema/args_schema.ts";
import { readRetention, readSpan } from "./time.ts";
import { checkValue } from "./values.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

const TEXT = { type: "string" };
const BOOLEAN = { type: "boolean" };
const NUMBER_OR_TEXT = { type: ["number", "string"] };
const COUNT_OR_BOOLEAN = { type: ["boolean", "integer"], minimum: 0 };

/** Returns the schema of values that may also be `false`. */
function orFalse(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { const: false }] };
}

/** A kind of values. */
export interface OptionKind<T> {
  /** Completes "expected …". */
  readonly expected: string;
  /** The JSON Schema of the values that JSON can express. */
  readonly schema: JsonSchema;
  /** The name of the value in help texts; undefined if no flag sets it. */
  readonly placeholder?: string;
  /**
   * Returns the JSON text for the payload; undefined if the payload doesn't store the option.
   *
   * @throws {InvalidPayload} if the value is invalid
   */
  readonly write: (field: string, value: unknown) => string | undefined;
  /** Returns the value of a flag's text. Default: the text itself. */
  readonly fromText?: (text: string) => unknown;
  /** The type of the values; absent at run time. */
  readonly type?: T;
}

/** Returns a kind whose values are stored unchanged. */
function kind<T>(
  expected: string,
  schema: JsonSchema,
  isValid: (value: unknown) => boolean,
  text: { readonly placeholder?: string; readonly fromText?: (text: string) => unknown } = {},
): OptionKind<T> {
  const write = (field: string, value: unknown) => {
    if (!isValid(value)) throw new InvalidPayload(field, value, expected);
    return checkValue(value, field) ? stringifyLossless(value) : JSON.stringify(value);
  };
  return { expected, schema, ...text, write };
}

/** Completes "expected …" for a span. */
export const SECONDS = "seconds, or a duration such as 30s, 5m, 2h or 1d";

/** Stored as seconds. */
export const span: OptionKind<number | string> = {
  expected: SECONDS,
  schema: NUMBER_OR_TEXT,
  placeholder: "DURATION",
  write: (field, value) => String(readSpan(field, value)),
};

/** Stored as seconds. */
export const retention: OptionKind<number | string> = {
  expected: `${SECONDS}; 0 to keep nothing, -1 to keep it while there is room`,
  schema: NUMBER_OR_TEXT,
  placeholder: "DURATION",
  write: (field, value) => String(readRetention(field, value)),
};

/** Stored as seconds. `false` isn't stored. */
export const lock: OptionKind<number | string | false> = {
  expected: `${SECONDS}; false for no lock`,
  schema: orFalse(NUMBER_OR_TEXT),
  placeholder: "DURATION",
  write: (field, value) => isOn(value) ? String(readSpan(field, value)) : undefined,
  fromText: falseOrText,
};

/** Not stored: the store decides at the push. */
export const wait: OptionKind<number | string | false> = {
  expected: `${SECONDS}; false for none`,
  schema: orFalse(NUMBER_OR_TEXT),
  placeholder: "DURATION",
  write: (field, value) => isOn(value) ? void readSpan(field, value) : undefined,
  fromText: falseOrText,
};

/** Not stored: the store decides at the push. */
export const rate: OptionKind<string | false> = {
  expected: THROTTLE_EXPECTED,
  schema: orFalse(TEXT),
  placeholder: "COUNT/DURATION",
  write: (field, value) => isOn(value) ? void readThrottle(field, value) : undefined,
  fromText: falseOrText,
};

/** Stored as a digest, by the client. */
export const pushKey: OptionKind<string | number> = {
  expected: GROUP_EXPECTED,
  schema: NUMBER_OR_TEXT,
  placeholder: "NAME|PATH",
  write: (field, value) => {
    if (value === false || !isGroupOption(value)) throw new InvalidPayload(field, value, groupExpected(value));
    return undefined;
  },
};

export const queueName = kind<string>(
  "a name of letters, digits and _ : . -",
  TEXT,
  (value) => typeof value === "string" && QUEUE_NAME.test(value),
  { placeholder: "NAME" },
);

export const flag = kind<boolean>("true or false", BOOLEAN, (value) => typeof value === "boolean", {
  placeholder: "true|false",
  fromText: booleanOrText,
});

/** Stored by the builder, which resolves a path into the arguments. */
export const groupName: OptionKind<string | number | false> = {
  expected: GROUP_EXPECTED,
  schema: orFalse(NUMBER_OR_TEXT),
  placeholder: "NAME|PATH",
  write: (field, value) => {
    if (!isGroupOption(value)) throw new InvalidPayload(field, value, groupExpected(value));
    return undefined;
  },
  fromText: falseOrText,
};

/** Not stored if it is normal. */
export const priorityName: OptionKind<Priority> = {
  expected: PRIORITY_EXPECTED,
  schema: { enum: ["high", "normal", "low"], default: "normal" },
  placeholder: "LEVEL",
  write: (field, value) => {
    if (!isPriority(value)) throw new InvalidPayload(field, value, PRIORITY_EXPECTED);
    return value === "normal" ? undefined : JSON.stringify(value);
  },
};

/** One of two words; the default isn't stored. */
function choice<Default extends string, Other extends string>(standard: Default, other: Other) {
  const expected = `${standard} or ${other}`;
  return {
    expected,
    schema: { enum: [standard, other], default: standard },
    placeholder: `${other}|${standard}`,
    write: (field, value) => {
      if (value !== standard && value !== other) throw new InvalidPayload(field, value, expected);
      return value === standard ? undefined : JSON.stringify(value);
    },
  } satisfies OptionKind<Default | Other> as OptionKind<Default | Other>;
}

export const lockEnd = choice("end", "start");

export const duplicates = choice("keep", "replace");

export const retries = kind<boolean | number>(
  "true, false, or a whole number from 0",
  COUNT_OR_BOOLEAN,
  (value) => typeof value === "boolean" || isCount(value),
  { placeholder: "N|false", fromText: countOrText },
);

export const lines = kind<boolean | number>(
  "true, false, or a number of lines",
  COUNT_OR_BOOLEAN,
  (value) => typeof value === "boolean" || isCount(value),
  { placeholder: "N|true", fromText: countOrText },
);

export const className = kind<string>(
  "the name of a class",
  TEXT,
  (value) => typeof value === "string" && value !== "",
);

export const logLevel = kind<"debug" | "info" | "warn" | "error">(
  "debug, info, warn or error",
  { enum: ["debug", "info", "warn", "error"] },
  (value) => value === "debug" || value === "info" || value === "warn" || value === "error",
  { placeholder: "LEVEL" },
);

export const tags = kind<readonly string[]>(
  "a list of words such as mail, urgent",
  { type: "array", items: { type: "string", minLength: 1 } },
  (value) => Array.isArray(value) && value.every((tag) => typeof tag === "string" && tag !== ""),
  { placeholder: "A,B", fromText: (text) => text.split(",").map((tag) => tag.trim()) },
);

export const webhookNames = kind<string | readonly string[]>(
  "the name of a webhook, or a list of names",
  { anyOf: [{ type: "string", minLength: 1 }, { type: "array", items: { type: "string", minLength: 1 } }] },
  (value) => [value].flat().every((name) => typeof name === "string" && name !== ""),
  { placeholder: "A,B", fromText: (text) => text.split(",").map((name) => name.trim()) },
);

export const jobId = kind<string>(
  "a text of letters, digits and _ : . -, usually 24 hex digits",
  { type: "string", pattern: JID.source },
  (value) => typeof value === "string" && JID.test(value),
  { placeholder: "JID" },
);

export const pushId = kind<string>(
  "a text of 1 to 200 characters",
  { type: "string", minLength: 1, maxLength: 200 },
  (value) => typeof value === "string" && value !== "" && value.length <= 200 && value.isWellFormed(),
  { placeholder: "TEXT" },
);

export const backoff: OptionKind<Backoff> = {
  expected: 'an object such as { type: "exponential", base: "2s", max: "1h", jitter: 0.2 }',
  schema: {
    type: "object",
    required: ["type", "base"],
    additionalProperties: false,
    properties: {
      type: { enum: ["exponential", "linear", "fixed"] },
      base: NUMBER_OR_TEXT,
      max: NUMBER_OR_TEXT,
      jitter: { type: "number", minimum: 0, maximum: 1 },
    },
  },
  placeholder: "TYPE,base=…",
  write: (field, value) => JSON.stringify(readBackoff(field, value)),
  fromText: backoffOfText,
};

/** Not stored: the client converts it into the time of the job, and reports an invalid value. */
export function timeKind<T>(expected: string, placeholder: string): OptionKind<T> {
  const fromText = placeholder === "TIME"
    ? (text: string) => /^\d+(\.\d+)?$/.test(text) ? Number(text) : text
    : undefined;
  return { expected, schema: NUMBER_OR_TEXT, placeholder, write: () => undefined, ...(fromText && { fromText }) };
}

/** Not stored: it applies only in the worker that performs the class. */
export function localKind<T>(expected: string, isValid: (value: unknown) => boolean): OptionKind<T> {
  const write = (field: string, value: unknown) => {
    if (!isValid(value)) throw new InvalidPayload(field, value, expected);
    return undefined;
  };
  return { expected, schema: {}, write };
}

/** Not stored in payloads: the client checks the arguments. */
export const argsSchema: OptionKind<ArgsSchema> = {
  expected: ARGS_SCHEMA_EXPECTED,
  schema: {},
  write: (field, value) => void argsCheck(value, field),
};

function falseOrText(text: string): string | false {
  return text === "false" ? false : text;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function booleanOrText(text: string): boolean | string {
  return text === "true" ? true : text === "false" ? false : text;
}

function countOrText(text: string): number | boolean | string {
  return /^\d{1,6}$/.test(text) ? Number(text) : booleanOrText(text);
}

/** Reads `exponential,base=2s,max=1h,jitter=0.2`, and the same as JSON. */
function backoffOfText(text: string): unknown {
  if (text.startsWith("{")) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  const [type, ...rest] = text.split(",");
  const fields = rest.map((part) => part.split("=", 2) as [string, string | undefined]);
  return {
    type,
    ...Object.fromEntries(fields.map(([name, value]) => [name, name === "jitter" ? Number(value) : value ?? ""])),
  };
}
