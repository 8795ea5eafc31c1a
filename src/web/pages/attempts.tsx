/**
 * The failures in a job's payload, its log and its output: of a job in the store and of one that has ended.
 *
 * @module
 */
import { isDuration, readCauses } from "../../job/failure.ts";
import { attemptNumbers, readErrors } from "../../job/past_errors.ts";
import { readWireTime } from "../../job/raw.ts";
import { CRASH_ERROR } from "../../operator/alerts/failure_alerts.ts";

/** One failure. */
export interface Attempt {
  /** The number of the attempt, from 1; undefined if unknown. */
  readonly number: number | undefined;
  /** Epoch milliseconds. */
  readonly at: number | undefined;
  /** `Class: message`. */
  readonly error: string;
  /** Whether the attempt ended with its worker: the job had crashed several. */
  readonly workerDied: boolean;
  /** The ID of the worker; undefined if unknown. */
  readonly worker?: string | undefined;
  /** The duration in milliseconds; undefined if unknown. */
  readonly ms?: number | undefined;
}

/** The fields of a payload that are read. Each may be missing, or hold any value. */
interface Failed {
  readonly errors?: unknown;
  readonly error_class?: unknown;
  readonly error_message?: unknown;
  readonly failed_at?: unknown;
  readonly retried_at?: unknown;
}

/** Returns the failures in a payload, the latest first. Sidekiq writes the last one, and the time of the first. */
export function attemptsOf(payload: Failed, failures: number): Attempt[] {
  const errors = readErrors(payload.errors);
  if (errors.length > 0) {
    const numbers = attemptNumbers(errors, failures);
    return errors.map(({ at, error_class, error_message, causes, worker, ms }, i) => ({
      number: numbers[i],
      at: readWireTime(at),
      error: [`${error_class}: ${error_message}`, ...readCauses(causes)].join("; "),
      workerDied: error_class === CRASH_ERROR,
      worker: typeof worker === "string" ? worker : undefined,
      ms: isDuration(ms) ? ms : undefined,
    })).reverse();
  }
  if (typeof payload.error_class !== "string") return [];
  const message = typeof payload.error_message === "string" ? payload.error_message : "";
  const last: Attempt = {
    number: numberOf(failures),
    at: readWireTime(payload.retried_at) ?? readWireTime(payload.failed_at),
    error: `${payload.error_class}: ${message}`.slice(0, 1_000),
    workerDied: payload.error_class === CRASH_ERROR,
  };
  const first = { number: 1, at: readWireTime(payload.failed_at), error: "(error not kept)", workerDied: false };
  return failures > 1 && first.at !== undefined ? [last, first] : [last];
}

function numberOf(attempt: number): number | undefined {
  return attempt >= 1 ? attempt : undefined;
}

/** The last lines of a job's log; nothing if there are none. */
export function LogTail({ lines, live = false }: { readonly lines: readonly string[]; readonly live?: boolean }) {
  if (lines.length === 0) return null;
  return (
    <section>
      <h2>
        Log{" "}
        <span class="note">
          last {lines.length} {lines.length === 1 ? "line" : "lines"}
          {live ? ", as of the last heartbeat" : ""}
        </span>
      </h2>
      <pre class="document" tabindex={0} aria-label="Log">{lines.join("\n")}</pre>
    </section>
  );
}

/** The last lines that a failed program printed; nothing if there are no lines. */
export function Output({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <section>
      <h2>
        Output <span class="note">the end of what the failed program printed, on stdout and stderr</span>
      </h2>
      <pre class="document" tabindex={0} aria-label="Output">{lines.join("\n")}</pre>
    </section>
  );
}

/** The causes of an error, a line each. */
export function Causes({ lines }: { readonly lines: readonly string[] }) {
  return lines.length === 0 ? null : <ul class="causes">{lines.map((line) => <li>{line}</li>)}</ul>;
}
