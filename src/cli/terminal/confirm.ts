/**
 * Confirmation of bulk actions: a question on a terminal, `--yes` elsewhere.
 *
 * @module
 */
import { number } from "../../text/format.ts";
import type { Flag } from "./args.ts";
import { CommandFailed, UsageError } from "./errors.ts";
import { ask } from "./output.ts";

/** The option that confirms in advance. */
export const YES = { yes: { takes: "switch", short: "y" } } as const satisfies Record<string, Flag>;

/**
 * Asks for confirmation.
 *
 * @param verb in the imperative: `Delete`
 * @param what the object of the action: `5 dead jobs of class "Import"`
 * @throws {CommandFailed} if the answer isn't yes
 * @throws {UsageError} if stdin isn't a terminal and `--yes` isn't given
 */
export function confirm(verb: string, what: string, { yes }: { readonly yes: boolean }): void {
  if (yes) return;
  if (!Deno.stdin.isTerminal()) {
    throw new UsageError(`This would ${verb.toLowerCase()} ${what}. Pass --yes to confirm (stdin isn't a terminal)`);
  }
  if (/^y(es)?$/i.test(ask(`${verb} ${what}? [y/N] `) ?? "")) return;
  throw new CommandFailed("declined", "Declined: nothing changed");
}

/** Asks for confirmation on a terminal alone: programs do it, too. @throws {CommandFailed} if the answer isn't yes */
export function confirmHere(verb: string, what: string, flags: { readonly yes: boolean }): void {
  if (Deno.stdin.isTerminal()) confirm(verb, what, flags);
}

/** Returns `1 job`, `2,500 jobs`, `3 dead jobs`. */
export function jobCount(count: number, state = ""): string {
  return `${number(count)} ${state === "" ? "" : `${state} `}${count === 1 ? "job" : "jobs"}`;
}
