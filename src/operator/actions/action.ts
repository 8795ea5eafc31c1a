/**
 * The actions of operators. Each is described once, in the files of this folder: the API's routes and their document, the forms of
 * pages, the commands and the keys of `jobs top` run it from its description.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import type { Crontab } from "../../client/crontab.ts";
import type { Clock } from "../../clock.ts";
import type { JobRequest } from "../../job/payload.ts";
import type { AuditEvent } from "../../store/admin/audit.ts";
import type { Store } from "../../store/admin/store.ts";
import type { Mask } from "../../text/mask.ts";
import type { Reader } from "../query/jobs.ts";
import type { Scope, Within } from "./scope.ts";
import type { Shape } from "../shapes/shape.ts";

/** The parts that an action works with. */
export interface Tools {
  readonly store: Store;
  readonly clock: Clock;
  /**
   * When the user was asked, in epoch milliseconds: ages of jobs are relative to it, so that no others are changed than those that
   * were counted. Default: now.
   */
  readonly asOf?: number;
  /** Hides secrets from the author: a filter matches only what is shown, so that it reveals none. Absent: nothing is hidden. */
  readonly mask?: Mask;
  /** The author's bounds; absent without any. */
  readonly scope?: Scope;
  /** Does long work in slices, for programs that do something else, too. */
  readonly slices?: NonNullable<Reader["slices"]>;
  /** Keeps an event in the audit log. Never rejects: the action has happened. */
  readonly record: (event: AuditEvent, kind: EventKind) => Promise<void>;
}

/** The parts that an action that enqueues works with. */
export interface ClientTools extends Tools {
  readonly client: Client;
  readonly crontab: Crontab;
  /** The author may be in another time zone. */
  readonly isRemote?: boolean;
  /**
   * Returns the check of each push of an author who may not push any, also of those that follow later, such as callbacks: it returns the
   * push as the author may make it.
   *
   * @param requests the pushes of one request, unchecked
   */
  readonly bounds?: (requests: readonly unknown[]) => Promise<((request: JobRequest) => JobRequest) | undefined>;
}

/** `frequent`: programs repeat the action by the thousand; `refused`: they may repeat it without any effect. */
export type EventKind = "rare" | "frequent" | "refused";

/** The author of an action. */
export type Author = Pick<AuditEvent, "user" | "by" | "from">;

/** The event of an action without its author. Default: the name of the action. */
export type Deed = Omit<AuditEvent, keyof Author | "action"> & Partial<Pick<AuditEvent, "action">>;

/** An action. */
export interface Action<In, Out, Has extends Tools = Tools> {
  /** Its name in the audit log: `pause`. */
  readonly name: string;
  /** One sentence: the first of its command's help, and its summary in the API's document. */
  readonly about: string;
  /** Its route in the API, with `{name}` for fields of the input. */
  readonly path: string;
  /** The field that the header `Idempotency-Key` sets, if the input has none. */
  readonly key?: string;
  /** Its input. Without known fields, the body is read as it is. */
  readonly takes: Shape<In>;
  /** Its output. */
  readonly gives: Shape<Out>;
  /** Which roles may use it. Default: `act`, operators alone. */
  readonly access?: "act" | "push" | "signal";
  /** Whether it deletes jobs, or results that no other action restores. Default: false. */
  readonly deletes?: (given: In) => boolean;
  /** How it stays within the author's scope. Absent: an author that is limited to queues or keys may not use it. */
  readonly within?: (given: In) => Within;
  /** The API's status of an output. Default 200. */
  readonly status?: (out: Out) => 200 | 201 | 202;
  /** Programs repeat it by the thousand. */
  readonly isFrequent?: true;
  /** Of an action on many jobs, which is done in steps: the words for its progress. Undefined if this input has no steps. */
  readonly label?: (given: In) => string | undefined;
  /** Returns its event. `out` is undefined if it was refused, or has just begun. Undefined: nothing was done. */
  readonly deed: (given: In, out?: Out) => Deed | undefined;
  /** Does it. Throws {@linkcode Refused} before any change. */
  readonly run: (tools: Has, given: In, steps: RunSteps, note: Note) => Promise<Out>;
}

/** Describes an action: its types follow from its shapes. */
export function action<In, Out, Has extends Tools = Tools>(one: Action<In, Out, Has>): Action<In, Out, Has> {
  return one;
}

/** An action of any input and output. */
// deno-lint-ignore no-explicit-any -- a table holds actions of any input and output
export type AnyAction<Has extends Tools = ClientTools> = Action<any, any, Has>;

/** The steps of an action on many jobs. */
export interface Steps {
  /** The number of jobs at the start; 0 if unknown. */
  readonly total: number;
  /** Yields after each step how many jobs it changed. */
  readonly steps: AsyncIterable<number>;
  /** The part of the output that is known before the first step. */
  readonly answer?: Readonly<Record<string, unknown>>;
}

/** Makes steps one after the other; returns how many jobs they changed. */
export type RunSteps = (steps: Steps) => Promise<number>;

/** Adds to the event of an action what is known only before the change. */
export type Note = (deed: Deed) => void;

/** The progress of an action. */
export interface Progress {
  readonly changed: number;
  readonly total: number;
  /** The part of the output that is known. */
  readonly answer: Readonly<Record<string, unknown>>;
}

/** How a surface follows an action on many jobs. */
export interface Following {
  /** Called before the first step and after each. An error that it throws ends the action. */
  readonly progress?: (progress: Progress) => void | Promise<void>;
  /** Ends the action between two steps. The steps before stay done. */
  readonly signal?: AbortSignal;
}

/**
 * - `invalid`: the input is wrong
 * - `forbidden`: the author may not do it
 * - `missing`: the object of the action doesn't exist
 * - `conflict`: the state of the object doesn't allow the action
 * - `unavailable`: later, it may be done
 */
export type RefusalKind = "invalid" | "forbidden" | "missing" | "conflict" | "unavailable";

/** An action was refused: nothing is changed. The API returns a status of 4xx, a command exits with 1 or 2, a page shows the message. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly kind: RefusalKind;
  /** The field of the input that is wrong, as a path. */
  readonly field: string | undefined;

  /** @param message one line: the reason, and what to do */
  constructor(kind: RefusalKind, message: string, { field, cause }: { field?: string; cause?: unknown } = {}) {
    super(message, { cause });
    this.kind = kind;
    this.field = field;
  }
}
