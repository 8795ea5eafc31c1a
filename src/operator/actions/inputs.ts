/**
 * Fields that the inputs of several actions have.
 *
 * @module
 */
import { isStoredGroup } from "../../job/aside.ts";
import { GROUP_NAME_EXPECTED, isGroup } from "../../job/group.ts";
import { isQueueName, isTargetQueue, QUEUE_NAME_EXPECTED, TARGET_QUEUE_EXPECTED } from "../../job/queue_name.ts";
import { invalid, object, type Shape } from "../shapes/shape.ts";
import { integer, parsed } from "../shapes/values.ts";

/** The name of a queue. */
export function queueName(about: string): Shape<string> {
  const parse = (value: unknown) => typeof value === "string" && isQueueName(value) ? value : undefined;
  return parsed(about, { word: "text", expected: QUEUE_NAME_EXPECTED, schema: { type: "string" }, parse });
}

/** The name of the queue that jobs are moved to. */
export function targetQueue(about: string): Shape<string> {
  const parse = (value: unknown) => typeof value === "string" && isTargetQueue(value) ? value : undefined;
  return parsed(about, { word: "text", expected: TARGET_QUEUE_EXPECTED, schema: { type: "string" }, parse });
}

/** The name of a group, or of that of a priority or of jobs aside. */
export function groupName(about: string): Shape<string> {
  return groupShape(about, isStoredGroup);
}

/** The name of a group of jobs. */
export function ownGroupName(about: string): Shape<string> {
  return groupShape(about, isGroup);
}

function groupShape(about: string, isName: (value: unknown) => boolean): Shape<string> {
  const parse = (value: unknown) => isName(value) ? value as string : undefined;
  return parsed(about, { word: "text", expected: GROUP_NAME_EXPECTED, schema: { type: "string" }, parse });
}

/** A shape whose fields follow a rule together. @param rule throws an `InvalidInput` */
export function ruled<T>(shape: Shape<T>, rule: (value: T) => void): Shape<T> {
  return {
    ...shape,
    read: (raw, field) => {
      const value = shape.read(raw, field);
      rule(value);
      return value;
    },
  };
}

/** A shape that describes the known fields, and reads any object: the part below checks it, and names all problems together. */
export function open<T extends object>(shape: Shape<unknown>): Shape<T> {
  const { fields: _, ...described } = shape;
  return {
    ...described,
    read: (raw, field) => {
      if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw invalid(raw, "an object", field);
      return raw as T;
    },
  };
}

/** An input whose body is read whole. */
export interface Document<Body> {
  /** The body. */
  readonly document: Body;
  /** Identifies the push, unless the body does. */
  readonly key?: string;
  /** More fields, which replace those of the body. */
  readonly [field: string]: Body | string | undefined;
}

/**
 * A shape that describes the body of a request, and is read as {@linkcode Document}.
 *
 * @param body `text`: the body isn't parsed, because it has fields that are named twice; `value`: it is an object or a list
 */
export function documented<Body = string>(
  shape: Shape<unknown>,
  body: "text" | "value" = "text",
): Shape<Document<Body>> & { readonly body: "text" | "value" } {
  return { ...open<Document<Body>>(shape), body };
}

/** The output of an action on many jobs. */
export const changedShape = object("", {
  changed: integer("jobs; absent with status 202: the action continues, see /operations"),
});
