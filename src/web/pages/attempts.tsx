/**
 * What a job's tries failed with, and what it logged: of one that is there and of one that has ended alike.
 *
 * @module
 */
import { readCauses, readErrors, tryNumbers } from "../../job/failure.ts";
import { readWireTime } from "../../job/raw.ts";
import { Time, type View } from "./view.tsx";

/** One failure. */
export interface Attempt {
  /** Which try it was, from 1; undefined when that is not known. */
  readonly number: number | undefined;
  /** Epoch milliseconds. */
  readonly at: number | undefined;
  /** `Class: message`. */
  readonly error: string;
}

/** What is read of a payload; all of it may be missing, or anything. */
interface Failed {
  readonly errors?: unknown;
  readonly error_class?: unknown;
  readonly error_message?: unknown;
  readonly failed_at?: unknown;
  readonly retried_at?: unknown;
}

/** The failures that a payload tells of, the latest first. One that Sidekiq wrote tells of its last, and when the first was. */
export function attemptsOf(payload: Failed, failures: number): Attempt[] {
  const errors = readErrors(payload.errors);
  if (errors.length > 0) {
    const numbers = tryNumbers(errors, failures);
    return errors.map(({ at, error_class, error_message, causes }, i) => ({
      number: numbers[i],
      at: readWireTime(at),
      error: [`${error_class}: ${error_message}`, ...readCauses(causes)].join("; "),
    })).reverse();
  }
  if (typeof payload.error_class !== "string") return [];
  const message = typeof payload.error_message === "string" ? payload.error_message : "";
  const last: Attempt = {
    number: numberOf(failures),
    at: readWireTime(payload.retried_at) ?? readWireTime(payload.failed_at),
    error: `${payload.error_class}: ${message}`.slice(0, 1_000),
  };
  const first = { number: 1, at: readWireTime(payload.failed_at), error: "(not kept)" };
  return failures > 1 && first.at !== undefined ? [last, first] : [last];
}

function numberOf(attempt: number): number | undefined {
  return attempt >= 1 ? attempt : undefined;
}

/** The table of them; nothing when there are none. */
export function Attempts({ view, attempts }: { readonly view: View; readonly attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return null;
  const [{ number: last }] = attempts as [Attempt];
  return (
    <section>
      <h2>
        Failed tries{" "}
        {last !== undefined && last > attempts.length && <span class="note">the last {attempts.length} of {last}</span>}
      </h2>
      <table class="list">
        <thead>
          <tr>
            <th class="num">Try</th>
            <th>Failed</th>
            <th>With</th>
          </tr>
        </thead>
        <tbody>
          {attempts.map(({ number, at, error }) => (
            <tr>
              <td class="num" data-label="Try">{number ?? "–"}</td>
              <td class="when" data-label="Failed">
                <Time at={at} now={view.now} />
              </td>
              <td class="error" data-label="With">{error}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The last lines that a job logged; nothing when there are none. */
export function LogTail({ lines, live = false }: { readonly lines: readonly string[]; readonly live?: boolean }) {
  if (lines.length === 0) return null;
  return (
    <section>
      <h2>
        Log <span class="note">its last {lines.length} lines{live ? ", as of the last heartbeat" : ""}</span>
      </h2>
      <pre class="document" tabindex={0} aria-label="Log">{lines.join("\n")}</pre>
    </section>
  );
}

/** What led to an error, a line for each cause. */
export function Causes({ lines }: { readonly lines: readonly string[] }) {
  return lines.length === 0 ? null : <ul class="causes">{lines.map((line) => <li>{line}</li>)}</ul>;
}
