/**
 * The keywords of JSON Schema: how the value of each is checked and compiled. A keyword that isn't here only describes (`title`,
 * `format`, `default`).
 *
 * @module
 */
import { showValue } from "../describe_error.ts";
import { closestWord } from "../suggest.ts";
import type { Check, Compiling } from "./json_schema.ts";
import { compilePattern, type Pattern } from "./pattern.ts";
import { inside, isEqual, isNumber, isObject, type Problem, type Run } from "./problem.ts";

/** Compiles the value of a keyword; undefined if another keyword of the schema does. */
type Keyword = (given: unknown, compiling: Compiling) => Check | undefined;

/** The types, and the values of each. */
const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: isNumber,
  integer: (value) => typeof value === "bigint" || Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  object: isObject,
  array: Array.isArray,
  null: (value) => value === null,
};

const bad = (value: unknown, expected: string): Problem => ({ path: "", value, expected });

/** A keyword for values of one type; other values pass. */
function onType<Given, Value>(
  read: (given: unknown, name: string, compiling: Compiling) => Given,
  isOfType: (value: unknown) => value is Value,
  check: (value: Value, given: Given, run: Run) => Problem | undefined,
): (name: string) => Keyword {
  return (name) => (given, compiling) => {
    const known = read(given, name, compiling);
    return (value, run) => isOfType(value) ? check(value, known, run) : undefined;
  };
}

const isText = (value: unknown): value is string => typeof value === "string";
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

function readNumber(given: unknown, name: string, compiling: Compiling): number | bigint {
  return isNumber(given) ? given : compiling.refuse(given, "a number", name);
}

function readCount(given: unknown, name: string, compiling: Compiling): number {
  return Number.isInteger(given) && (given as number) >= 0
    ? given as number
    : compiling.refuse(given, "a whole number from 0", name);
}

function readNames(given: unknown, compiling: Compiling, ...steps: readonly string[]): readonly string[] {
  return isList(given) && given.every(isText) ? given : compiling.refuse(given, "a list of names", ...steps);
}

function readPattern(source: unknown, compiling: Compiling, ...steps: readonly string[]): Pattern {
  if (!isText(source)) return compiling.refuse(source, "a regular expression, as text", ...steps);
  try {
    return compilePattern(source);
  } catch (error) {
    return compiling.refuse(source, `a regular expression (${(error as Error).message})`, ...steps);
  }
}

/** Returns what a pattern expects: the format that it stands for, if the schema names one. */
function textLike(source: unknown, { schema: { format } }: Compiling): string {
  return isText(format) ? `a text of the format ${format}` : `a text that matches ${String(source).slice(0, 100)}`;
}

function readList(given: unknown, name: string, compiling: Compiling): readonly unknown[] {
  return isList(given) && given.length > 0 ? given : compiling.refuse(given, "a list with at least one schema", name);
}

function readMap(given: unknown, name: string, compiling: Compiling): [name: string, schema: unknown][] {
  return isObject(given) ? Object.entries(given) : compiling.refuse(given, "an object with schemas", name);
}

const number = (expected: string, isValid: (value: number | bigint, given: number | bigint) => boolean) =>
  onType(
    readNumber,
    isNumber,
    (value, given) => isValid(value, given) ? undefined : bad(value, `${expected} ${given}`),
  );
const size = <Value>(
  isOfType: (value: unknown) => value is Value,
  expected: (count: number) => string,
  isValid: (value: Value, count: number) => boolean,
) => onType(readCount, isOfType, (value, count) => isValid(value, count) ? undefined : bad(value, expected(count)));

/** Returns the number of characters, which may take two code units each. */
const length = (text: string) => [...text].length;
const many = (count: number, thing: string) => `${count} ${thing}${count === 1 ? "" : "s"}`;

/** Returns the problem of values that fit no alternative: what all expected if they agree on the place, else the deepest. */
function bestOf(value: unknown, problems: readonly Problem[]): Problem {
  const depth = ({ path }: Problem) => path.split(/[.[]/).length;
  const deepest = problems.toSorted((a, b) => depth(b) - depth(a))[0]!;
  if (deepest.path !== "") return deepest;
  return bad(value, [...new Set(problems.map(({ expected }) => expected))].join(" or "));
}

function isMultiple(value: number | bigint, of: number | bigint): boolean {
  if (typeof value === "bigint" && Number.isInteger(Number(of))) return value % BigInt(of) === 0n;
  const quotient = Number(value) / Number(of);
  return Number.isFinite(quotient) && Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * 1e-15;
}

const KEYWORDS: Readonly<Record<string, (name: string) => Keyword>> = {
  type: () => (given, compiling) => {
    const names = isText(given) ? [given] : isList(given) && given.length > 0 ? given.filter(isText) : [];
    const wrong = isList(given) ? given.find((name) => !Object.hasOwn(TYPES, String(name))) : given;
    const isKnown = names.length > 0 && names.every((name) => Object.hasOwn(TYPES, name));
    if (!isKnown) compiling.refuse(wrong, Object.keys(TYPES).join(", "), "type");
    const expected = names.join(" or ");
    return (value) => names.some((name) => TYPES[name]!(value)) ? undefined : bad(value, expected);
  },
  enum: (name) => (given, compiling) => {
    if (!isList(given)) return compiling.refuse(given, "a list of values", name);
    const expected = `one of ${showValue(given)}`;
    return (value) => given.some((one) => isEqual(one, value)) ? undefined : bad(value, expected);
  },
  const: () => (given) => (value) => isEqual(given, value) ? undefined : bad(value, showValue(given)),
  minimum: number("a number from", (value, given) => value >= given),
  maximum: number("a number up to", (value, given) => value <= given),
  exclusiveMinimum: number("a number above", (value, given) => value > given),
  exclusiveMaximum: number("a number below", (value, given) => value < given),
  multipleOf: (name) => (given, compiling) => {
    if (!isNumber(given) || given <= 0) return compiling.refuse(given, "a number above 0", name);
    return number("a multiple of", isMultiple)(name)(given, compiling);
  },
  minLength: size(isText, (count) => `at least ${many(count, "character")}`, (text, count) => length(text) >= count),
  maxLength: size(isText, (count) => `at most ${many(count, "character")}`, (text, count) => length(text) <= count),
  pattern: onType(
    (given, name, compiling) => ({
      expected: textLike(given, compiling),
      matches: readPattern(given, compiling, name),
    }),
    isText,
    (text, { expected, matches }, run) => matches(text, run) ? undefined : bad(text, expected),
  ),
  minItems: size(isList, (count) => `at least ${many(count, "item")}`, (list, count) => list.length >= count),
  maxItems: size(isList, (count) => `at most ${many(count, "item")}`, (list, count) => list.length <= count),
  uniqueItems: () => (given) => (list, run) => {
    if (given !== true || !isList(list)) return undefined;
    const index = list.findIndex((item, i) =>
      list.some((other, j) => {
        run.count();
        return j < i && isEqual(item, other);
      })
    );
    return index < 0 ? undefined : { path: `[${index}]`, value: list[index], expected: "no item twice" };
  },
  prefixItems: (name) => (given, compiling) => {
    const checks = readList(given, name, compiling).map((schema, i) => compiling.part(schema, name, i));
    return (list, run) => isList(list) ? firstProblem(list, run, (i) => checks[i]) : undefined;
  },
  items: (name) => (given, compiling) => {
    if (isList(given)) return compiling.refuse(given, "one schema; a list of them is prefixItems", name);
    const check = compiling.part(given, name);
    const { prefixItems } = compiling.schema;
    const from = isList(prefixItems) ? prefixItems.length : 0;
    return (list, run) => isList(list) ? firstProblem(list, run, (i) => i < from ? undefined : check) : undefined;
  },
  contains: (name) => (given, compiling) => {
    const check = compiling.part(given, name);
    const { minContains = 1, maxContains = Infinity } = compiling.schema as Record<string, number | undefined>;
    return (list, run) => {
      if (!isList(list)) return undefined;
      const count = list.filter((item) => check(item, run) === undefined).length;
      if (count >= minContains && count <= maxContains) return undefined;
      return bad(list, maxContains < Infinity ? `${minContains} to ${maxContains} fitting items` : "a fitting item");
    };
  },
  minContains: (name) => (given, compiling) => void readCount(given, name, compiling),
  maxContains: (name) => (given, compiling) => void readCount(given, name, compiling),
  properties: (name) => (given, compiling) => {
    const checks = readMap(given, name, compiling).map(([key, one]) => [key, compiling.part(one, name, key)] as const);
    return (object, run) => {
      if (!isObject(object)) return undefined;
      for (const [key, check] of checks) {
        const problem = Object.hasOwn(object, key) ? inside(key, check(object[key], run)) : undefined;
        if (problem) return problem;
      }
    };
  },
  patternProperties: (name) => (given, compiling) => {
    const checks = readMap(given, name, compiling).map(([source, one]) => ({
      matches: readPattern(source, compiling, name, source),
      check: compiling.part(one, name, source),
    }));
    return eachProperty((key, value, run) => {
      for (const { matches, check } of checks) {
        const problem = matches(key, run) ? inside(key, check(value, run)) : undefined;
        if (problem) return problem;
      }
    });
  },
  additionalProperties: (name) => (given, compiling) => {
    const { properties, patternProperties } = compiling.schema;
    const known = isObject(properties) ? Object.keys(properties) : [];
    const patterns = Object.keys(isObject(patternProperties) ? patternProperties : {})
      .map((source) => readPattern(source, compiling, "patternProperties", source));
    const check = compiling.part(given, name);
    return eachProperty((key, value, run) => {
      if (known.includes(key) || patterns.some((matches) => matches(key, run))) return undefined;
      if (given !== false) return inside(key, check(value, run));
      const meant = closestWord(key, known);
      const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
      return inside(key, bad(value, `no property of this name${hint}`));
    });
  },
  propertyNames: (name) => (given, compiling) => {
    const check = compiling.part(given, name);
    return eachProperty((key, _value, run) => inside(key, check(key, run)));
  },
  required: (name) => (given, compiling) => {
    const names = readNames(given, compiling, name);
    return (object) => isObject(object) ? missing(object, names) : undefined;
  },
  dependentRequired: (name) => (given, compiling) => {
    const rows = readMap(given, name, compiling)
      .map(([key, names]) => [key, readNames(names, compiling, name, key)] as const);
    return (object) => {
      if (!isObject(object)) return undefined;
      const needed = rows.filter(([key]) => Object.hasOwn(object, key)).flatMap(([, names]) => names);
      return missing(object, needed);
    };
  },
  minProperties: size(isObject, (n) => `at least ${n} properties`, (object, n) => Object.keys(object).length >= n),
  maxProperties: size(isObject, (n) => `at most ${n} properties`, (object, n) => Object.keys(object).length <= n),
  allOf: (name) => (given, compiling) => {
    const checks = readList(given, name, compiling).map((schema, i) => compiling.same(schema, name, i));
    return (value, run) => {
      for (const check of checks) {
        const problem = check(value, run);
        if (problem) return problem;
      }
    };
  },
  anyOf: (name) => (given, compiling) => {
    const checks = readList(given, name, compiling).map((schema, i) => compiling.same(schema, name, i));
    return (value, run) => {
      const problems: Problem[] = [];
      for (const check of checks) {
        const problem = check(value, run);
        if (problem === undefined) return undefined;
        problems.push(problem);
      }
      return bestOf(value, problems);
    };
  },
  oneOf: (name) => (given, compiling) => {
    const checks = readList(given, name, compiling).map((schema, i) => compiling.same(schema, name, i));
    return (value, run) => {
      const problems = checks.map((check) => check(value, run)).filter((problem) => problem !== undefined);
      if (problems.length === checks.length) return bestOf(value, problems);
      return problems.length === checks.length - 1 ? undefined : bad(value, "a value of exactly one alternative");
    };
  },
  not: (name) => (given, compiling) => {
    const check = compiling.same(given, name);
    return (value, run) => check(value, run) ? undefined : bad(value, `a value that isn't ${showValue(given)}`);
  },
  if: (name) => (given, compiling) => {
    const [condition, met, unmet] = [given, compiling.schema["then"] ?? true, compiling.schema["else"] ?? true]
      .map((schema, i) => compiling.same(schema, [name, "then", "else"][i]!));
    return (value, run) => (condition!(value, run) === undefined ? met! : unmet!)(value, run);
  },
  $ref: (name) => (given, compiling) =>
    isText(given) ? compiling.reference(given) : compiling.refuse(given, "a reference such as #/$defs/Address", name),
};

function firstProblem(
  list: readonly unknown[],
  run: Run,
  checkOf: (index: number) => Check | undefined,
): Problem | undefined {
  for (const [i, item] of list.entries()) {
    const problem = inside(i, checkOf(i)?.(item, run));
    if (problem) return problem;
  }
}

function eachProperty(check: (key: string, value: unknown, run: Run) => Problem | undefined): Check {
  return (object, run) => {
    if (!isObject(object)) return undefined;
    for (const [key, value] of Object.entries(object)) {
      const problem = check(key, value, run);
      if (problem) return problem;
    }
  };
}

function missing(object: Readonly<Record<string, unknown>>, names: readonly string[]): Problem | undefined {
  const name = names.find((one) => !Object.hasOwn(object, one));
  return name === undefined ? undefined : inside(name, bad(undefined, "a value, which is required"));
}

/** Returns a keyword; undefined if the name is none that decides whether a value is valid. */
export function keyword(name: string): Keyword | undefined {
  return Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name]!(name) : undefined;
}
