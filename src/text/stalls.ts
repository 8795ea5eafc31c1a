/**
 * Running jobs that hold up others, in sentences. Pure.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import type { Stall } from "../store/ops/stalls.ts";
import { heedHint } from "./runtimes.ts";
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
export function stallHint({ is, jid, runtime }: Stall): string {
  switch (is) {
    case "blocked":
      return `the stop ends it at the shutdown timeout${
        jid === undefined
          ? " and returns its jobs"
          : "; without the cancel the job returns to its queue and blocks again"
      }; isolate: true keeps the class from blocking others; jobs web in a process apart replies meanwhile`;
    case "ignores-signal":
      return `a stop of its worker ends it; ${heedHint(runtime)}`;
    case "running":
      return `the dump shows what it does, and jobs cancel ${
        jid === undefined ? "JID" : shellWord(jid)
      } ends it; a timeout for the class ends such jobs`;
  }
}

/** Returns the command that helps. A stop returns a blocking job to its queue; one that ignores its signal has ended for good. */
export function stallCommand({ is, worker, jid }: Stall): string {
  if (is === "running") return `jobs dump ${shellWord(worker)}`;
  const cancel = is === "blocked" && jid !== undefined ? `jobs cancel ${shellWord(jid)} && ` : "";
  return `${cancel}jobs stop ${shellWord(worker)}`;
}

/** Returns the command and its hint in one clause. */
export function stallCure(stall: Stall): string {
  return `${stallCommand(stall)} (${stallHint(stall)})`;
}
