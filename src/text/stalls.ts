/**
 * Running jobs that hold up others, in sentences. Pure.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import type { Stall } from "../store/ops/stalls.ts";
import { shellWord } from "./shell.ts";

/** Returns the name of a stalling job: its class and jid. */
export function stallName({ class: name = "a job", jid }: Stall): string {
  return jid === undefined ? name : `${name} ${jid}`;
}

/** Returns what stalls, in a phrase: `Spin 1a2b blocks the event loop of web1:1:ab, for 3m`. */
export function stallText(stall: Stall, now: number): string {
  const time = formatDuration(Math.max(0, now - stall.since));
  switch (stall.is) {
    case "blocked":
      return stall.jid === undefined
        ? `one of its running jobs blocks the event loop of ${stall.worker}, for ${time}`
        : `${stallName(stall)} blocks the event loop of ${stall.worker}, for ${time}`;
    case "ignores-signal": {
      const ignored = stall.abortedAt === undefined ? "" : ` for ${formatDuration(Math.max(0, now - stall.abortedAt))}`;
      return `${
        stallName(stall)
      } on ${stall.worker} ignores its signal (${stall.abortReason})${ignored} and has run for ${time}`;
    }
    case "running":
      return `${stallName(stall)} has run for ${time} on ${stall.worker}`;
  }
}

/** Returns what to know about the remedy, as a clause. */
export function stallHint({ is }: Stall): string {
  switch (is) {
    case "blocked":
      return "its worker ends it at the shutdown timeout and returns its jobs; isolate: true keeps the class from blocking others";
    case "ignores-signal":
      return "pass ctx.signal on in the handler, or set isolate: true, so that it can be killed; a stop of its worker returns the job";
    case "running":
      return "the dump shows what it does; a timeout for the class ends such jobs";
  }
}

/** Returns the command that helps. */
export function stallCommand({ is, worker }: Stall): string {
  return `jobs ${is === "running" ? "dump" : "stop"} ${shellWord(worker)}`;
}

/** Returns the command and its hint in one clause. */
export function stallCure(stall: Stall): string {
  return `${stallCommand(stall)} (${stallHint(stall)})`;
}
