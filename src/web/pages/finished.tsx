/**
 * `/finished`, and the page of a job that has ended.
 *
 * @module
 */
import { stepsIn } from "../../job/kept_steps.ts";
import type { EndedJob } from "../../job/result.ts";
import type { FinishedList } from "../read/results.ts";
import { readCauses } from "../../job/failure.ts";
import { readWireTime } from "../../job/raw.ts";
import { logOf, outputLines } from "../read/results.ts";
import { argsLine, cut, document, text } from "../read/job_view.ts";
import { CRITERIA } from "../../operator/query/criteria.ts";
import { isEmpty } from "../read/filter.ts";
import { FINISHED_COLUMNS, tookText } from "../../text/finished.ts";
import { number } from "../../text/format.ts";
import { FilterForm } from "./filters.tsx";
import { Icon } from "./icons.tsx";
import { QueueNames } from "./job_table.tsx";
import { ActionButton, Empty, JobId, JobLinks, link, None, TraceLink, type View } from "./view.tsx";
import { attemptsOf, Causes, LogTail, Output } from "./attempts.tsx";
import { Layout } from "./layout.tsx";
import type { ShownStream } from "../read/stream.ts";
import { Stack } from "./stack.tsx";
import { Stream } from "./stream.tsx";
import { Badge, List } from "./list.tsx";
import { Payload } from "./payload.tsx";
import { onePage } from "../read/rows.ts";
import { Steps } from "./steps.tsx";
import { attemptSteps, deathSteps, type Step, Timeline } from "./timeline.tsx";
import { Tree } from "./tree.tsx";

/** The final states of jobs. */
const STATES = ["succeeded", "failed", "dead", "cancelled", "expired"];
const FIELDS = (["class", "queue", "group", "batch", "error", "tag", "older", "newer"] as const).map((name) => ({
  ...CRITERIA[name],
  name,
  list: name === "queue" ? "queue-names" : undefined,
}));

/** The finished jobs. */
export function FinishedPage({ view, list }: { readonly view: View; readonly list: FinishedList }) {
  const { rows, filter, cursor, next, looked } = list;
  const isFiltered = !isEmpty(filter);
  return (
    <Layout view={view} title="Finished">
      <div class="heading">
        <h1>Finished</h1>
        <span class="note">jobs whose result is kept, latest first</span>
      </div>
      <div class="filters">
        <QueueNames view={view} />
        <FilterForm
          view={view}
          path="/finished"
          search="Search…"
          fields={FIELDS}
          values={filter}
        />
        <nav class="choice" aria-label="Status">
          {["", ...STATES].map((state) => (
            <a
              href={link(view, "/finished", { ...filter, state })}
              aria-current={(filter.state ?? "") === state ? "true" : undefined}
            >
              {titleCase(state || "all")}
            </a>
          ))}
        </nav>
      </div>
      <div id="rows" data-live>
        {rows.length === 0
          ? isFiltered
            ? <Empty title="No matching jobs.">Searched {number(looked)} results.</Empty>
            : <NothingFinished />
          : <FinishedTable view={view} rows={rows} />}
      </div>
      <nav class="paging" aria-label="Pages of this list">
        <span class="grow"></span>
        {cursor !== undefined && <a href={link(view, "/finished", filter)}>← First page</a>}
        {next !== undefined && (
          <a rel="next" href={link(view, "/finished", { ...filter, cursor: next })}>
            {isFiltered ? "Show more results" : "Next"} →
          </a>
        )}
      </nav>
    </Layout>
  );
}

function NothingFinished() {
  return (
    <Empty title="No finished jobs.">
      Workers keep the result of each job, by default for 500 seconds. Keep results longer with <code>result_ttl</code>
      {" "}
      and <code>failure_ttl</code> in a handler's options.
    </Empty>
  );
}

/** The rows. */
export function FinishedTable({ view, rows }: { readonly view: View; readonly rows: readonly EndedJob[] }) {
  return (
    <List
      view={view}
      columns={FINISHED_COLUMNS}
      rows={rows}
      looks={{
        jid: false,
        state: (job) => <State job={job} />,
        job: {
          class: "job",
          show: (job) => (
            <>
              <a class="class" href={link(view, `/jobs/${encodeURIComponent(job.jid)}`)}>{text(job.class)}</a>
              <code class="args">{argsOf(job)}</code>
            </>
          ),
        },
        result: {
          class: "error",
          show: (job, text) =>
            text === "" ? <None /> : (
              <div class="clip">
                {job.error && <Icon name="failed" />}
                {job.error ? text.slice(0, 300) : <code>{text.slice(0, 200)}</code>}
              </div>
            ),
        },
        queue: { class: "short" },
        took: {},
      }}
    />
  );
}

function State({ job }: { readonly job: EndedJob }) {
  return <Badge state={stateName(job)} />;
}

/** Returns the status for display. Any program may have written the record. */
function stateName({ state }: EndedJob): string {
  return cut(text(state), 20);
}

function argsOf({ payload }: EndedJob): string {
  const args = payload?.args;
  return Array.isArray(args) ? argsLine(args) : "";
}

function resultOf({ result, resultDropped: dropped }: EndedJob): string {
  return dropped !== undefined ? `(${dropped})` : result === undefined ? "" : document(result);
}

/** Returns the steps of a finished job, the earliest first. */
function stepsOf(job: EndedJob): Step[] {
  const { created_at: createdAt, enqueued_at: enqueuedAt } = job.payload ?? {};
  const attempt = typeof job.attempt === "number" ? job.attempt : 1;
  const name = stateName(job);
  const kinds: Readonly<Record<string, Step["kind"]>> = {
    succeeded: "ok",
    failed: "bad",
    dead: "bad",
    expired: "retrying",
  };
  const worker = text(job.worker);
  const steps: Step[] = [{ title: "Pushed", at: readWireTime(createdAt) }];
  const failed = attemptsOf(job.payload ?? {}, attempt - 1);
  // The deaths of a dead job are in its error.
  const died = job.error?.class === "WorkerDied" ? [] : deathSteps(job.payload, failed);
  steps.push(...attemptSteps(failed), ...died);
  if (readWireTime(enqueuedAt) !== undefined) {
    steps.push({ title: `Queued in ${text(job.queue)}`, at: readWireTime(enqueuedAt) });
  }
  if (job.startedAt !== undefined) {
    steps.push({
      title: `Attempt ${attempt} started`,
      at: job.startedAt,
      kind: "running",
      ...(worker && { note: `on ${worker}` }),
    });
  }
  const isEnd = job.startedAt !== undefined;
  const note = isEnd || job.elapsedMs === undefined ? undefined : `took ${tookText(job)}`;
  const error = job.error && `${text(job.error.class)}: ${text(job.error.message)}`.slice(0, 1_000);
  return [...steps, { title: titleCase(name), at: job.endedAt, kind: kinds[name], isNow: true, isEnd, note, error }];
}

function titleCase(name: string): string {
  return name === "" ? "Ended" : name[0]!.toUpperCase() + name.slice(1);
}

/** A finished job. */
export function FinishedJobPage({ view, job, stream }: {
  readonly view: View;
  readonly job: EndedJob;
  readonly stream: ShownStream | undefined;
}) {
  const rows: [string, unknown][] = [
    ["Attempt", job.attempt],
    ["Duration", tookText(job)],
    ["Progress", job.progress],
    ["Last log line", job.lastLine],
  ];
  return (
    <Layout view={view} title={`Job ${job.jid}`}>
      <article>
        <div class="heading">
          <h1>{text(job.class)}</h1>
          <State job={job} />
          <JobId jid={job.jid} />
          <div class="buttons">
            {job.payload !== undefined && (
              <ActionButton
                view={view}
                path={`/jobs/${encodeURIComponent(job.jid)}/push-again`}
                fields={{ once: crypto.randomUUID() }}
                label="Push again"
              />
            )}
            <TraceLink view={view} payload={job.payload} />
          </div>
        </div>

        <JobLinks
          view={view}
          job={{ class: text(job.class), queue: text(job.queue), worker: text(job.worker), payload: job.payload }}
        />
        {job.error && (
          <section>
            <h2>Error</h2>
            <p class="failure">
              <b>{text(job.error.class)}</b> {text(job.error.message)}
            </p>
            <Causes lines={readCauses(job.error.causes)} />
            <Stack lines={(job.error.stack ?? []).map(String)} />
          </section>
        )}
        <Steps view={view} jid={job.jid} steps={{ page: onePage(stepsIn(job)), waiting: [] }} ended />
        <Timeline view={view} steps={stepsOf(job)} />
        <Stream jid={job.jid} stream={stream} ended />
        <LogTail lines={logOf(job)} />
        <Output lines={outputLines(job.output) ?? []} />
        {resultOf(job) !== "" && (
          <section>
            <h2>Result</h2>
            {job.resultDropped === undefined
              ? <Tree value={job.result} label="Result" />
              : <p class="note">{resultOf(job)}</p>}
          </section>
        )}
        <section>
          <h2>Details</h2>
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
        {job.payload !== undefined && <Payload payload={job.payload} />}
      </article>
    </Layout>
  );
}
