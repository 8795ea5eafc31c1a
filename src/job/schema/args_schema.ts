/**
 * The schema of a class's arguments: a JSON Schema, or a schema of a library that follows Standard Schema (zod, valibot, arktype, …).
 * A push whose arguments don't fit is rejected. The declared options of the class have the JSON Schema, for the pushes of other
 * programs. A library's rules that JSON Schema can't express are checked by programs that have the library's schema.
 *
 * @module
 */
import { InvalidPayload } from "../errors.ts";
import { JsonArgs } from "../json_args.ts";
import { parseLossless } from "../json.ts";
import { compileSchema, type JsonSchema } from "./json_schema.ts";
import { isObject, pathStep, Run } from "./problem.ts";

/** A schema of a library, by the interface of standardschema.dev. */
export interface StandardSchema {
  /** The interface. */
  readonly "~standard": {
    /** The version of the interface. */
    readonly version: 1;
    /** The library. */
    readonly vendor: string;
    /** Returns the problems of a value. */
    readonly validate: (value: unknown) => unknown;
  };
}

/**
 * A schema of arguments: one schema for the list of all, or a list with one schema for each.
 */
export type ArgsSchema = Exclude<JsonSchema, boolean> | StandardSchema | readonly (JsonSchema | StandardSchema)[];

/** Completes "expected …". */
export const ARGS_SCHEMA_EXPECTED =
  "a JSON Schema or a Standard Schema of the list of arguments, or a list with one of each argument";

/** Throws {@linkcode InvalidPayload} if arguments don't fit. */
export type ArgsCheck = (args: unknown) => void;

const compiled = new WeakMap<object, ArgsCheck>();

/**
 * Returns the check of a schema.
 *
 * @param path the schema's place, for errors
 * @throws {InvalidPayload} if the schema is invalid: the path of the wrong part
 */
export function argsCheck(schema: unknown, path: string): ArgsCheck {
  if (typeof schema !== "object" && typeof schema !== "function" || schema === null) {
    throw new InvalidPayload(path, schema, ARGS_SCHEMA_EXPECTED);
  }
  let check = compiled.get(schema);
  if (check === undefined) {
    check = Array.isArray(schema) ? checkOfEach(schema, path) : checkOfList(schema, path);
    compiled.set(schema, check);
  }
  return check;
}

/**
 * Returns the JSON Schema of a schema, which can be stored; undefined if its library has none for it.
 *
 * @throws {InvalidPayload} if the library can't express it
 */
export function storedSchema(schema: unknown, path: string): JsonSchema | readonly JsonSchema[] | undefined {
  if (!Array.isArray(schema)) return jsonSchemaOf(schema, path);
  const each = schema.map((one, i) => jsonSchemaOf(one, `${path}[${i}]`));
  return each.every((one) => one !== undefined) ? each : undefined;
}

function checkOfEach(schemas: readonly unknown[], path: string): ArgsCheck {
  const checks = schemas.map((schema, i) => checkOf(schema, `${path}[${i}]`));
  return (given) => {
    const args = listOf(given);
    if (args === undefined) return;
    if (args.length !== checks.length) {
      const expected = `${checks.length}, as many as its class has schemas`;
      throw new InvalidPayload("args.length", args.length, expected);
    }
    for (const [i, check] of checks.entries()) check(args[i], `args[${i}]`);
  };
}

function checkOfList(schema: object, path: string): ArgsCheck {
  const { type } = schema as { readonly type?: unknown };
  if (!isStandard(schema) && typeof type === "string" && type !== "array") {
    throw new InvalidPayload(
      `${path}.type`,
      type,
      "array: the schema is that of the list of arguments; [schema] is that of one",
    );
  }
  const check = checkOf(schema, path);
  return (given) => {
    const args = listOf(given);
    if (args !== undefined) check(args, "args");
  };
}

/** Returns arguments as values; undefined if they aren't a list, which is rejected elsewhere. */
function listOf(args: unknown): readonly unknown[] | undefined {
  const values = args instanceof JsonArgs ? parseLossless(args.text) : args;
  return Array.isArray(values) ? values : undefined;
}

type ValueCheck = (value: unknown, path: string) => void;

function checkOf(schema: unknown, path: string): ValueCheck {
  const stored = jsonSchemaOf(schema, path);
  const check = stored === undefined ? undefined : compileSchema(stored, path);
  if (isStandard(schema)) return (value, at) => checkStandard(schema, value, at);
  return (value, at) => {
    try {
      const problem = check!(value, new Run());
      if (problem === undefined) return;
      throw new InvalidPayload(at + problem.path, problem.value, problem.expected);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new InvalidPayload(at, value, "less data, or a schema with fewer alternatives: the check takes too long");
    }
  };
}

function checkStandard(schema: StandardSchema, value: unknown, at: string): void {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    result.catch(() => {});
    throw new InvalidPayload(at, value, "a schema without asynchronous rules");
  }
  const { issues: [issue] = [] } = result as { readonly issues?: readonly Issue[] };
  if (issue === undefined) return;
  const steps = (issue.path ?? []).map((step) => typeof step === "object" ? step.key : step);
  const path = steps.map((step) => pathStep(typeof step === "number" ? step : String(step))).join("");
  const found = steps.reduce<unknown>(
    (from, step) => (from as Record<PropertyKey, unknown> | undefined)?.[step],
    value,
  );
  throw new InvalidPayload(
    at + path,
    found,
    `what its schema accepts (${String(issue.message).split("\n")[0]!.slice(0, 200)})`,
  );
}

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

function isStandard(schema: unknown): schema is StandardSchema {
  const inner = (schema as { readonly "~standard"?: { readonly validate?: unknown } } | null)?.["~standard"];
  return typeof inner?.validate === "function";
}

/** The methods by which libraries return a JSON Schema. */
interface Convertible {
  readonly "~standard"?: { readonly jsonSchema?: { input(options: { readonly target: string }): unknown } };
  toJSONSchema?(options: { readonly io: "input" }): unknown;
  toJsonSchema?(): unknown;
}

function jsonSchemaOf(schema: unknown, path: string): JsonSchema | undefined {
  if (!isStandard(schema)) return schema as JsonSchema;
  const one = schema as Convertible;
  try {
    const found = one["~standard"]?.jsonSchema?.input({ target: "draft-2020-12" }) ??
      one.toJSONSchema?.({ io: "input" }) ?? one.toJsonSchema?.();
    return isObject(found) ? JSON.parse(JSON.stringify(found)) as JsonSchema : undefined;
  } catch (error) {
    throw new InvalidPayload(
      path,
      schema,
      `a schema of JSON values (${(error as Error).message.split("\n")[0]!.slice(0, 200)})`,
    );
  }
}
