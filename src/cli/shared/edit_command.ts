/**
 * The commands that act on jobs, `retry`, `kill`, `cancel`, `delete` and `move`, and the options that they share.
 *
 * @module
 */
import type { JobAction } from "../../operator/actions/job_ids.ts";
import { COMMON_FLAGS, type Flag, type parseCommand } from "../terminal/args.ts";
import { YES } from "../terminal/confirm.ts";
import { FILTER_FLAGS } from "./filter_flags.ts";
import type { State } from "../../operator/actions/places.ts";

/** The options of every command that acts on jobs. */
export const EDIT_FLAGS = {
  ...COMMON_FLAGS,
  ...FILTER_FLAGS,
  ...YES,
  all: { takes: "text" },
  "dry-run": { takes: "switch" },
} as const satisfies Record<string, Flag>;

/** Their part of a help text. */
export const EDIT_HELP = `      --all STATE        act on all jobs in this state that match the filters
      --dry-run          count them, show some, and change nothing
  -y, --yes              don't ask before`;

/** A command that acts on jobs. */
export interface EditCommand {
  readonly name: JobAction;
  /** The states that `--all` accepts. */
  readonly states: readonly State[];
  /** `Delete`, `Deleting`, `Deleted`. */
  readonly words: readonly [imperative: string, participle: string, past: string];
  /** Completes question and result: ` to queue "low"`. */
  readonly suffix?: string;
  /** Of `move`: the queue. */
  readonly queue?: string;
}

/** The values of {@linkcode EDIT_FLAGS}. */
export type EditFlags = ReturnType<typeof parseCommand<typeof EDIT_FLAGS>>["flags"];
