/**
 * `/finished`, and the page of a job that has ended.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { EndedJob } from "../../job/result.ts";
import type { FinishedList } from "../read/results.ts";
import { readCauses } from "../../job/failure.ts";
import { readWireTime } from "../../job/raw.ts";
import { endedState, logOf } from "../read/results.ts";
import { argsLine, cut, document, text } from "../read/job_view.ts";
import { Icon } from "./icons.tsx";
import { Empty, link, Time, type View } from "./view.tsx";
import { type Attempt, Attempts, attemptsOf, Causes, LogTail } from "./attempts.tsx";
import { Layout } from "./layout.tsx";
import { StateDiagram } from "./states.tsx";

/** The jobs that have ended. */
export function FinishedPage({ view, list }: { readonly view: View; readonly list: FinishedList }) {
  const { rows, text, cursor, next } = list;
  return (
    <Layout view={view} title="Finished">
      <div class="heading">
        <h1>Finished</h1>
        <span class="note">ended jobs whose record is kept, latest first</span>
      </div>
      <form class="filters" action={link(view, "/finished")} aria-label="Filter">
        <input
          type="search"
          name="q"
          value={text}
          placeholder="Search…"
          aria-label="Search…"
          class="wide"
        />
        {text !== "" && <a href={link(view, "/finished")}>Clear</a>}
      </form>
      <div id="rows" data-live>
        {rows.length === 0
          ? text === "" ? <NothingFinished /> : <Empty title="No matching jobs." />
          : <FinishedTable view={view} rows={rows} />}
      </div>
      <nav class="paging" aria-label="Pages of this list">
        <span class="grow"></span>
        {cursor !== undefined && <a href={link(view, "/finished")}>← First page</a>}
        {next !== undefined && <a rel="next" href={link(view, "/finished", { cursor: next })}>Next →</a>}
      </nav>
    </Layout>
  );
}

function NothingFinished() {
  return (
    <Empty title="No finished jobs.">
      Workers keep a record of each job that ends, by default for 500 seconds. Keep them longer with{" "}
      <code>result_ttl</code> and <code>failure_ttl</code> in a handler's options.
    </Empty>
  );
}

function FinishedTable({ view, rows }: { readonly view: View; readonly rows: readonly EndedJob[] }) {
  return (
    <table class="list">
      <thead>
        <tr>
          <th>Status</th>
          <th class="job">Job</th>
          <th class="error">Result</th>
          <th>Queue</th>
          <th class="num">Duration</th>
          <th>Ended</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((job) => (
          <tr>
            <td data-label="Status">
              <State job={job} />
            </td>
            <td class="job" data-label="Job">
              <a class="class" href={link(view, `/jobs/${encodeURIComponent(job.jid)}`)}>{text(job.class)}</a>
              <code class="args">{argsOf(job)}</code>
            </td>
            <td class="error" data-label="Result">
              {job.error
                ? (
                  <>
                    <Icon name="failed" />
                    {`${text(job.error.class)}: ${text(job.error.message)}`.slice(0, 300)}
                  </>
                )
                : <code>{resultOf(job).slice(0, 200)}</code>}
            </td>
            <td class="short" data-label="Queue">{text(job.queue)}</td>
            <td class="num" data-label="Duration">{took(job)}</td>
            <td class="when" data-label="Ended">
              <Time at={job.ended_at} now={view.now} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const KINDS: Readonly<Record<string, string>> = { succeeded: "ok", dead: "bad", failed: "bad", expired: "warn" };

function State({ job }: { readonly job: EndedJob }) {
  const name = stateName(job);
  return <span class={`badge ${KINDS[name] ?? ""}`}>{name}</span>;
}

/** The status as people read it. A record may have been written by any program. */
function stateName({ state }: EndedJob): string {
  return cut(endedState(text(state)), 20);
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
            <Causes lines={readCauses(job.error.causes)} />
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
