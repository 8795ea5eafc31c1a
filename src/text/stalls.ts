/**
 * Running jobs that hold up others, in sentences. Pure.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import type { Stall } from "../store/ops/stalls.ts";

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
    case "ignores-signal":
      return `${stallName(stall)} on ${stall.worker} ignores its signal (${stall.abortReason}) and has run for ${time}`;
    case "running":
      return `${stallName(stall)} has run for ${time} on ${stall.worker}`;
  }
}

/** Returns the remedy. */
export function stallCure({ is, worker }: Stall): string {
  switch (is) {
    case "blocked":
      return `jobs stop ${worker} ends it at its shutdown timeout and returns its jobs; isolate: true keeps the class from blocking others`;
    case "ignores-signal":
      return `pass ctx.signal on in the handler, or set isolate: true, so that it can be killed; jobs stop ${worker} returns the job`;
    case "running":
      return `jobs dump ${worker} shows what it does; a timeout for the class ends such jobs`;
  }
}
