/**
 * One description of each thing that operators see or give. From a shape come its static type ({@linkcode TypeOf}), the page of
 * `--json`, the schema in the OpenAPI document, and the check of a value.
 *
 * @module
 */
import { stringifyLossless } from "../../job/json.ts";
import { expectedName } from "../../job/suggest.ts";

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Shapes by the name of their field. */
export type Fields = Readonly<Record<string, Shape<unknown>>>;

/** The description of a value. */
export interface Shape<T> {
  /** A sentence for people, in Markdown: its meaning. */
  readonly about: string;
  /** Its type on the page of `--json`. */
  readonly word: string;
  /** Completes "expected …". */
  readonly expected: string;
  /** Without the sentence: for that, see {@linkcode schemaOf}. */
  readonly schema: JsonSchema;
  /** Returns the value that a text in a form or a flag means, valid or not. Default: the text itself. */
  readonly fromText?: (text: string) => unknown;
  /**
   * Returns the value if it is valid.
   *
   * @param raw parsed JSON
   * @param field where the value is, as a path: `all.in`. Default: the value is the whole input
   * @throws {InvalidInput}
   */
  readonly read: (raw: unknown, field?: string) => T;
  /** The schema by the name that the document has it under. */
  readonly component?: Readonly<Record<string, JsonSchema>>;
  /** Whether the field may be absent. */
  readonly isOptional?: true;
  /** Of an object. */
  readonly fields?: Fields;
  /** The shape of each element, at this path relative to the value: `[]` of a list, `.{}` of an object by name. */
  readonly each?: { readonly path: "[]" | ".{}"; readonly shape: Shape<unknown> };
}

/** The shape of a field that may be absent. */
export type Optional<T> = Shape<T> & { readonly isOptional: true };

/** The static type of a shape. */
export type TypeOf<S> = S extends Shape<infer T> ? T : never;

type OptionalNames<F> = { [Name in keyof F]: F[Name] extends Optional<unknown> ? Name : never }[keyof F];

/** The static type of an object with these fields. */
export type ObjectOf<F extends Fields> =
  & { readonly [Name in Exclude<keyof F, OptionalNames<F>>]: TypeOf<F[Name]> }
  & { readonly [Name in OptionalNames<F>]?: TypeOf<F[Name]> };

/** A value of a shape, to be written as JSON. */
export type JsonOf<S> = Written<TypeOf<S>>;

/** A value to be written as JSON, which leaves out an optional field that is undefined. */
export type Written<T> = T extends readonly (infer Element)[] ? readonly Written<Element>[]
  : T extends object
    ? { [Name in keyof T]: Written<T[Name]> | (Record<never, never> extends Pick<T, Name> ? undefined : never) }
  : T;

/** An object with known fields. */
export interface ObjectShape<F extends Fields> extends Shape<ObjectOf<F>> {
  readonly fields: F;
}

/** An input was refused. The message is one line for the user. */
export class InvalidInput extends Error {
  override readonly name = "InvalidInput";
  /** The field that is wrong, as a path; undefined for the whole input. */
  readonly field: string | undefined;
  /** Completes "expected …", for another message about the field. */
  readonly expected: string | undefined;

  /**
   * @param message what is wrong, the value, and what was expected
   * @param field the field that is wrong, as a path
   */
  constructor(message: string, field?: string, expected?: string) {
    super(message);
    this.field = field?.slice(0, MAX_NAME_CHARS);
    this.expected = expected;
  }
}

/** An unknown field is named up to this length. */
const MAX_NAME_CHARS = 80;
/** A wrong value is shown up to this length. */
const MAX_SHOWN_CHARS = 40;

/** Returns the error for a value that isn't `expected`. */
export function invalid(value: unknown, expected: string, field?: string): InvalidInput {
  const whole = stringifyLossless(value) ?? "nothing";
  const shown = whole.length > MAX_SHOWN_CHARS ? `${whole.slice(0, MAX_SHOWN_CHARS)}…` : whole;
  return new InvalidInput(
    field === undefined ? `Expected ${expected}, not ${shown}` : `Invalid "${field}": ${shown}; expected ${expected}`,
    field,
    expected,
  );
}

/** A list; of texts, separated by commas in a form or a flag. */
export function list<T>(about: string, element: Shape<T>): Shape<readonly T[]> {
  const isText = element.word === "text";
  return {
    about,
    word: isText ? "list of texts" : "list",
    expected: isText ? "a list of strings" : "a list",
    schema: { type: "array", items: schemaOf(element) },
    each: { path: "[]", shape: element },
    fromText: (text) => text.split(",").map((one) => one.trim()).filter((one) => one !== ""),
    read: (raw, field) => {
      if (!Array.isArray(raw)) throw invalid(raw, isText ? "a list of strings" : "a list", field);
      return raw.map((one, i) => element.read(one, `${field ?? ""}[${i}]`));
    },
  };
}

/** An object by name: class → counts. */
export function map<T>(about: string, value: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return {
    about,
    word: "object",
    expected: "an object",
    schema: { type: "object", additionalProperties: schemaOf(value) },
    each: { path: ".{}", shape: value },
    read: (raw, field) =>
      Object.fromEntries(
        Object.entries(objectIn(raw, field)).map(([name, one]) => [name, value.read(one, join(field, name))]),
      ),
  };
}

/** An object with these fields and no others. */
export function object<const F extends Fields>(about: string, fields: F): ObjectShape<F> {
  const required = Object.keys(fields).filter((name) => !fields[name]!.isOptional);
  return {
    about,
    word: "object",
    expected: "an object",
    schema: {
      type: "object",
      ...(required.length > 0 && { required }),
      properties: Object.fromEntries(Object.entries(fields).map(([name, shape]) => [name, schemaOf(shape)])),
    },
    fields,
    read: (raw, field) => {
      const given = objectIn(raw, field);
      const other = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
      if (other !== undefined) {
        const cure = expectedName(other.slice(0, MAX_NAME_CHARS), Object.keys(fields), "no fields");
        const path = join(field, other);
        throw new InvalidInput(`Unknown field "${path.slice(0, MAX_NAME_CHARS)}"; ${cure}`, path);
      }
      const entries = Object.entries(fields).flatMap(([name, shape]) => {
        const path = join(field, name);
        const value = Object.hasOwn(given, name) ? given[name] : undefined;
        if (value !== undefined) return [[name, shape.read(value, path)] as const];
        if (shape.isOptional) return [];
        throw new InvalidInput(`Missing field "${path}": expected ${shape.expected}`, path);
      });
      return Object.fromEntries(entries) as ObjectOf<F>;
    },
  };
}

/** A field that may be absent. */
export function optional<T>(shape: Shape<T>): Optional<T> {
  return { ...shape, isOptional: true };
}

/** Null, or a value. */
export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return {
    ...shape,
    schema: { oneOf: [shape.schema, { type: "null" }] },
    read: (raw, field) => raw === null ? null : shape.read(raw, field),
  };
}

/** A value of one of several shapes; the error for another is that of the last. */
export function oneOf<const Shapes extends readonly Shape<unknown>[]>(
  about: string,
  ...shapes: Shapes
): Shape<TypeOf<Shapes[number]>> {
  const expected = listed(shapes.map((shape) => shape.expected));
  return {
    about,
    word: "any",
    expected,
    schema: { oneOf: shapes.map(schemaOf) },
    read: (raw, field) => {
      for (const shape of shapes.slice(0, -1)) {
        try {
          return shape.read(raw, field) as TypeOf<Shapes[number]>;
        } catch (error) {
          if (!(error instanceof InvalidInput)) throw error;
        }
      }
      return shapes.at(-1)!.read(raw, field) as TypeOf<Shapes[number]>;
    },
  };
}

/** Returns a shape that the OpenAPI document has once, under a name. */
export function named<S extends Shape<unknown>>(name: string, shape: S): S {
  return {
    ...shape,
    about: "",
    schema: { $ref: `#/components/schemas/${name}` },
    component: { [name]: schemaOf(shape) },
  };
}

/** Returns the schema of a shape, with its sentence. */
export function schemaOf({ schema, about }: Shape<unknown>): JsonSchema {
  return about === "" ? schema : { ...schema, description: about };
}

/** Returns the input that the fields of a form or the values of flags mean, unread. An empty text counts as absent. */
export function textsInput(
  shape: Shape<unknown>,
  texts: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, unknown>> {
  const values = Object.entries(texts).filter(([, given]) => given !== undefined && given !== "")
    .map(([name, given]) => [name, shape.fields?.[name]?.fromText?.(given!) ?? given]);
  return Object.fromEntries(values);
}

/** Returns `a, b or c`. */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function join(field: string | undefined, name: string): string {
  return field === undefined ? name : `${field}.${name}`;
}

function objectIn(raw: unknown, field: string | undefined): Readonly<Record<string, unknown>> {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw invalid(raw, "an object", field);
  return raw as Readonly<Record<string, unknown>>;
}
