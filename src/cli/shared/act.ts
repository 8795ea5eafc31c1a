/**
 * Does the actions of operators at the command line.
 *
 * @module
 */
import { userInfo } from "node:os";
import { systemClock } from "../../clock.ts";
import { act } from "../../operator/actions/act.ts";
import type { Action, Author, Following, Tools } from "../../operator/actions/action.ts";
import { InvalidInput, type Shape, textsInput } from "../../operator/shapes/shape.ts";
import { type AuditEvent, recordEvent } from "../../store/admin/audit.ts";
import type { Store } from "../../store/admin/store.ts";
import type { Mask } from "../../text/mask.ts";
import { UsageError } from "../terminal/errors.ts";
import { printError } from "../terminal/output.ts";

/** How the fields of an input are named on the command line. Default: an option of the same name. */
export interface InputWords {
  /** Field → argument: `{ name: "queue" }`. */
  readonly args?: Readonly<Record<string, string>>;
  /** Field → the end of a message: `, or none`. */
  readonly cures?: Readonly<Record<string, string>>;
}

/**
 * Returns the input of an action from arguments and options, checked before a store is opened.
 *
 * @throws {UsageError}
 */
export function inputOf(
  shape: Shape<unknown>,
  texts: Readonly<Record<string, string | undefined>>,
  { args = {}, cures = {} }: InputWords = {},
): Readonly<Record<string, unknown>> {
  const raw = textsInput(shape, texts);
  try {
    shape.read(raw);
    return raw;
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    const { field = "", expected, message } = error;
    const text = texts[field];
    if (expected === undefined || text === undefined) throw new UsageError(message);
    throw new UsageError(`Invalid ${args[field] ?? `--${field}`} "${text}": expected ${expected}${cures[field] ?? ""}`);
  }
}

/** How a command does an action. */
export interface Acting<Has extends Tools> extends Following {
  /** The part of the command line that acts. */
  readonly by?: string | undefined;
  /** The parts that the action needs besides the store. */
  readonly parts?: Omit<Has, keyof Tools>;
  /** Called before each event is recorded, whose failure is printed. */
  readonly beforeRecord?: () => void;
  /** See {@linkcode Tools}. */
  readonly asOf?: number;
  /** See {@linkcode Tools}. */
  readonly mask?: Mask;
}

/** Does an action. A failure to record it is only reported, because the action itself has succeeded. */
export function actHere<In, Out, Has extends Tools = Tools>(
  store: Store,
  action: Action<In, Out, Has>,
  raw: unknown,
  { by = "command line", parts, beforeRecord, asOf, mask, ...following }: Acting<Has> = {},
): Promise<Out> {
  const tools: Tools = {
    store,
    clock: systemClock,
    ...(asOf !== undefined && { asOf }),
    ...(mask !== undefined && { mask }),
    record: (event) => {
      beforeRecord?.();
      return record(store, event, (why) => printError(`jobs: ${why}`));
    },
  };
  return act({ ...tools, ...parts } as Has, authorBy(by), action, raw, following);
}

/** Keeps an event. @param report prints a failure */
export async function record(
  store: Pick<Store, "logs">,
  event: AuditEvent,
  report: (why: string) => void,
): Promise<void> {
  try {
    await recordEvent(store, event);
  } catch (error) {
    report(`not recorded in the audit log: ${(error as Error).message}`);
  }
}

/** Returns the author of actions here. @param by the part of the command line that acts */
export function authorBy(by: string): Author {
  return { user: userName(), by, from: Deno.hostname() };
}

/** Returns the name of the system's user; its number if it has no name, as in a container. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${Deno.uid() ?? "unknown"}`;
  }
}
