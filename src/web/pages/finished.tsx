/**
 * `/done`, and the page of a job that has ended.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { EndedJob } from "../../job/result.ts";
import type { FinishedList } from "../read/results.ts";
import { readWireTime } from "../../job/raw.ts";
import { logOf } from "../read/results.ts";
import { argsLine, cut, document, text } from "../read/job_view.ts";
import { Empty, link, Time, type View } from "./view.tsx";
import { type Attempt, Attempts, attemptsOf, LogTail } from "./attempts.tsx";
import { Layout } from "./layout.tsx";
import { StateDiagram } from "./states.tsx";

/** Those that have ended. */
export function FinishedPage({ view, list }: { readonly view: View; readonly list: FinishedList }) {
  const { rows, text, cursor, next } = list;
  return (
    <Layout view={view} title="Done">
      <div class="heading">
        <h1>Done</h1>
        <span class="note">jobs that have ended, as long as their record is kept</span>
      </div>
      <form class="filters" action={link(view, "/done")} aria-label="Filter">
        <input
          type="search"
          name="q"
          value={text}
          placeholder="Text anywhere in it"
          aria-label="Text anywhere in it"
          class="wide"
        />
        <button type="submit">Filter</button>
        {text !== "" && <a href={link(view, "/done")}>Clear</a>}
      </form>
      <div id="rows" data-live>
        {rows.length === 0
          ? <Empty>{text === "" ? "No job has left a record." : "None has it."}</Empty>
          : <DoneTable view={view} rows={rows} />}
      </div>
      <nav class="paging" aria-label="Pages of this list">
        <span class="grow"></span>
        {cursor !== undefined && <a href={link(view, "/done")}>⇤ First</a>}
        {next !== undefined && <a rel="next" href={link(view, "/done", { cursor: next })}>Next →</a>}
      </nav>
    </Layout>
  );
}

function DoneTable({ view, rows }: { readonly view: View; readonly rows: readonly EndedJob[] }) {
  return (
    <table class="list">
      <thead>
        <tr>
          <th>Ended</th>
          <th>How</th>
          <th class="num">Took</th>
          <th>Queue</th>
          <th>Job</th>
          <th>Came to</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((job) => (
          <tr>
            <td class="when" data-label="Ended">
              <Time at={job.ended_at} now={view.now} />
            </td>
            <td data-label="How">
              <State job={job} />
            </td>
            <td class="num" data-label="Took">{took(job)}</td>
            <td data-label="Queue">{text(job.queue)}</td>
            <td class="job" data-label="Job">
              <a class="class" href={link(view, `/jobs/${encodeURIComponent(job.jid)}`)}>{text(job.class)}</a>
              <code class="args">{argsOf(job)}</code>
            </td>
            <td class={job.error ? "error" : "job"} data-label="Came to">
              {job.error
                ? `${text(job.error.class)}: ${text(job.error.message)}`.slice(0, 300)
                : <code>{resultOf(job).slice(0, 200)}</code>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const KINDS: Readonly<Record<string, string>> = { done: "leased", dead: "bad", failed: "bad", expired: "warn" };

function State({ job }: { readonly job: EndedJob }) {
  return <span class={`badge ${KINDS[job.state] ?? ""}`}>{stateName(job)}</span>;
}

/** A record may have been written by anyone. */
function stateName({ state }: EndedJob): string {
  return cut(text(state), 20);
}

function took({ elapsed_ms: ms }: EndedJob): string {
  return typeof ms === "number" ? formatDuration(ms) : "–";
}

function argsOf({ payload }: EndedJob): string {
  const args = payload?.args;
  return Array.isArray(args) ? argsLine(args) : "";
}

function resultOf({ result, result_dropped: dropped }: EndedJob): string {
  return dropped !== undefined ? `(${dropped})` : result === undefined ? "" : document(result);
}

function EndedStates({ view, job }: { readonly view: View; readonly job: EndedJob }) {
  const { created_at: createdAt, enqueued_at: enqueuedAt } = job.payload ?? {};
  const end = job.error || job.state === "dead" ? "dead" : "done";
  const notes = {
    created: { at: readWireTime(createdAt) },
    queue: { at: readWireTime(enqueuedAt) },
    ...(job.started_at !== undefined && { running: { at: job.started_at, note: took(job) } }),
    ...((job.attempt ?? 1) > 1 && { retry: { note: `try ${job.attempt}` } }),
    [end]: { at: job.ended_at },
  };
  return <StateDiagram view={view} now={end} names={{ [end]: stateName(job) }} notes={notes} />;
}

/** The failures before its last try, and that one's. */
function failuresOf({ payload, attempt: said, error, ended_at: at }: EndedJob): readonly Attempt[] {
  const attempt = typeof said === "number" ? said : 1;
  const before = attemptsOf(payload ?? {}, attempt - 1);
  return error ? [{ number: attempt, at, error: `${text(error.class)}: ${text(error.message)}` }, ...before] : before;
}

/** One that has ended. */
export function FinishedJobPage({ view, job }: { readonly view: View; readonly job: EndedJob }) {
  const rows: [string, unknown][] = [
    ["Try", job.attempt],
    ["Took", job.elapsed_ms === undefined ? undefined : took(job)],
    ["Process", job.process],
    ["Queue", job.queue],
    ["Progress", job.progress],
    ["Last line", job.last_line],
  ];
  return (
    <Layout view={view} title={`Job ${job.jid}`}>
      <article>
        <div class="heading">
          <h1>{text(job.class)}</h1>
          <State job={job} />
          <span class="note mono">{job.jid}</span>
        </div>
        <EndedStates view={view} job={job} />
        {job.error && (
          <section>
            <h2>Error</h2>
            <p class="failure">
              <b>{text(job.error.class)}</b> {text(job.error.message)}
            </p>
            {job.error.stack && (
              <pre class="document" tabindex={0} aria-label="Stack">{job.error.stack.map(String).join("\n")}</pre>
            )}
          </section>
        )}
        <Attempts view={view} attempts={failuresOf(job)} />
        <LogTail lines={logOf(job)} />
        {resultOf(job) !== "" && (
          <section>
            <h2>Result</h2>
            <pre class="document" tabindex={0} aria-label="Result">{resultOf(job)}</pre>
          </section>
        )}
        <section>
          <h2>How it ran</h2>
          <table class="fields">
            <tbody>
              {rows.filter(([, value]) => value !== undefined).map(([name, value]) => (
                <tr>
                  <th scope="row">{name}</th>
                  <td>{String(value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
        {job.payload !== undefined && (
          <section>
            <h2>Payload</h2>
            <pre class="document" tabindex={0} aria-label="Payload">{document(job.payload)}</pre>
          </section>
        )}
      </article>
    </Layout>
  );
}
