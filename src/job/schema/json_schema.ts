/**
 * JSON Schema (draft 2020-12), as far as programs use it for arguments: compiled once, then checked against values.
 *
 * Own code, because the usual libraries either build functions from text, which a compiled program may forbid, or reject bigints, follow
 * remote references, and run patterns whose time is unbounded. Here every schema is checked when a worker registers it: an
 * unknown reference, a misspelled type or a keyword that can't be checked is an error then, not a check that silently passes.
 *
 * @module
 */
import { InvalidPayload } from "../errors.ts";
import { keyword } from "./keywords.ts";
import { isObject, pathStep, type Problem, type Run } from "./problem.ts";

/** A JSON Schema: an object, or `true` and `false`. */
export type JsonSchema = boolean | Readonly<Record<string, unknown>>;

/** A schema has at most this much text. Every client reads it. */
export const MAX_SCHEMA_CHARS = 32 * 1_024;
const MAX_SCHEMA_LEVELS = 64;

/** Checks a value. Returns the first problem. */
export type Check = (value: unknown, run: Run) => Problem | undefined;

/** Keywords that would change what is valid, and that aren't supported. Ignoring one would accept what it forbids. */
const UNSUPPORTED: ReadonlySet<string> = new Set([
  ...["$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$anchor", "unevaluatedProperties", "unevaluatedItems"],
  ...["dependentSchemas", "dependencies", "additionalItems", "extends", "disallow", "divisibleBy"],
]);

/** Compiles the schemas in the value of a keyword. */
export class Compiling {
  /** The whole object in which the keyword is. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly #document: Document;
  readonly #path: string;
  readonly #place: Place;

  constructor(document: Document, schema: Readonly<Record<string, unknown>>, path: string, place: Place) {
    this.schema = schema;
    this.#document = document;
    this.#path = path;
    this.#place = place;
  }

  /** Compiles a schema for the same value. */
  same(schema: unknown, ...steps: readonly (string | number)[]): Check {
    return this.#document.compile(schema, this.#pathOf(steps), this.#place);
  }

  /** Compiles a schema for a part of the value. */
  part(schema: unknown, ...steps: readonly (string | number)[]): Check {
    const { levels } = this.#place;
    return this.#document.compile(schema, this.#pathOf(steps), { node: this.#pathOf(steps), levels });
  }

  /** Compiles the schema that a reference names. */
  reference(pointer: string): Check {
    return this.#document.reference(pointer, `${this.#path}.$ref`, this.#place);
  }

  /** Rejects the value of the keyword. */
  refuse(value: unknown, expected: string, ...steps: readonly (string | number)[]): never {
    throw new InvalidPayload(this.#pathOf(steps), value, expected);
  }

  #pathOf(steps: readonly (string | number)[]): string {
    return steps.reduce<string>((path, step) => path + pathStep(step), this.#path);
  }
}

/** Where a schema is: references to the same value in a circle would never end. */
interface Place {
  readonly node: string;
  readonly levels: number;
}

class Document {
  readonly #root: unknown;
  readonly #path: string;
  readonly #references = new Map<string, { check?: Check }>();
  /** The references from each place to others for the same value. */
  readonly #edges = new Map<string, Set<string>>();

  constructor(root: unknown, path: string) {
    this.#root = root;
    this.#path = path;
  }

  start(): Check {
    const check = this.reference("#", this.#path, { node: "start", levels: 0 });
    for (const node of [...this.#edges.keys()]) this.#refuseCircle(node);
    return check;
  }

  compile(schema: unknown, path: string, { node, levels }: Place): Check {
    if (schema === true) return () => undefined;
    if (schema === false) return (value) => ({ path: "", value, expected: "no value here" });
    if (!isObject(schema)) throw new InvalidPayload(path, schema, "a JSON Schema: an object, true or false");
    if (levels >= MAX_SCHEMA_LEVELS) {
      throw new InvalidPayload(path, schema, `at most ${MAX_SCHEMA_LEVELS} levels of schemas`);
    }
    const compiling = new Compiling(this, schema, path, { node, levels: levels + 1 });
    const checks = Object.entries(schema).flatMap(([name, value]) => {
      if (UNSUPPORTED.has(name)) throw new InvalidPayload(path + pathStep(name), value, "no keyword of this name");
      const check = keyword(name)?.(value, compiling);
      return check === undefined ? [] : [check];
    });
    return (value, run) => {
      run.count();
      for (const check of checks) {
        const problem = check(value, run);
        if (problem !== undefined) return problem;
      }
    };
  }

  reference(pointer: string, path: string, { node, levels }: Place): Check {
    const target = `ref ${pointer}`;
    this.#edges.set(node, (this.#edges.get(node) ?? new Set()).add(target));
    let known = this.#references.get(pointer);
    if (known === undefined) {
      known = {};
      this.#references.set(pointer, known);
      const where = pointer === "#" ? this.#path : `${this.#path}${pointer.slice(1).replaceAll("/", ".")}`;
      known.check = this.compile(this.#find(pointer, path), where, { node: target, levels });
    }
    const found = known;
    return (value, run) => found.check!(value, run);
  }

  #find(pointer: string, path: string): unknown {
    if (pointer !== "#" && !pointer.startsWith("#/")) {
      throw new InvalidPayload(path, pointer, "a reference within the schema, such as #/$defs/Address");
    }
    let found = this.#root;
    for (const step of pointer.split("/").slice(1)) {
      const name = decode(step).replaceAll("~1", "/").replaceAll("~0", "~");
      found = typeof found === "object" && found !== null && Object.hasOwn(found, name)
        ? (found as Record<string, unknown>)[name]
        : undefined;
    }
    if (found === undefined) throw new InvalidPayload(path, pointer, "a reference to a part of this schema");
    return found;
  }

  #refuseCircle(from: string, passed: ReadonlySet<string> = new Set()): void {
    if (passed.has(from)) {
      const [, pointer] = from.split(" ");
      throw new InvalidPayload(this.#path, pointer, "no reference that leads back to itself for the same value");
    }
    const next = this.#edges.get(from) ?? [];
    for (const one of next) this.#refuseCircle(one, new Set([...passed, from]));
    // Each place is followed once.
    this.#edges.delete(from);
  }
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/**
 * Compiles a schema.
 *
 * @param path where it is, for errors
 * @throws {InvalidPayload} if it is invalid: the path of the wrong part, its value, and what was expected
 */
export function compileSchema(schema: unknown, path: string): Check {
  const chars = JSON.stringify(schema)?.length ?? 0;
  if (chars > MAX_SCHEMA_CHARS) throw new InvalidPayload(path, chars, `at most ${MAX_SCHEMA_CHARS} characters`);
  return new Document(schema, path).start();
}
