/**
 * `/workers`, and the dump of one worker.
 *
 * @module
 */
import { maskError } from "../../text/mask.ts";
import type { Columns } from "../../text/columns.ts";
import { number } from "../../text/format.ts";
import { jobColumns } from "../../text/jobs.ts";
import { tagsOf, WORKER_COLUMNS } from "../../text/workers.ts";
import { cut } from "../read/job_view.ts";
import type { RunningRow } from "../read/running.ts";
import { ActionButton, Empty, link, Time, type View } from "./view.tsx";
import type { Rows } from "../read/rows.ts";
import { RowPages, RowSearch } from "./rows_nav.tsx";
import { JobName } from "./job_table.tsx";
import { Progress } from "./progress.tsx";
import { Layout } from "./layout.tsx";
import { List } from "./list.tsx";
import type { WorkerInfo } from "../../store/port/workers.ts";

/** A worker's record may contain anything. */
const MAX_WORD_CHARS = 200;

/** Of a worker, at most this many failing hosts are shown. */
const MAX_CIRCUITS = 5;

/** The columns of running jobs. */
export const RUNNING_COLUMNS: Columns<RunningRow> = {
  processor: { text: ({ task }) => cut(task, MAX_WORD_CHARS) },
  ...jobColumns("running", ({ worker, job }) => ({ ...job, worker: taggedName(worker) })),
};

/** All workers. */
export function WorkersPage({ view, workers, page, running }: {
  readonly view: View;
  readonly workers: readonly WorkerInfo[];
  readonly page: Rows<WorkerInfo>;
  /** The job of each busy processor of the page's workers. */
  readonly running: readonly RunningRow[];
}) {
  const online = workers.filter((worker) => worker.alive);
  const offline = workers.length - online.length;
  const busy = page.rows.reduce((sum, { work }) => sum + work.length, 0);
  return (
    <Layout view={view} title="Workers">
      <div class="heading">
        <h1>Workers</h1>
        <span class="note">
          {number(online.length)} online{offline > 0 && `, ${number(offline)} offline`}
        </span>
        <RowSearch view={view} path="/workers" page={page} label="Name of a worker" />
        {online.length > 1 && (
          <div class="buttons">
            <ActionButton view={view} path="/workers/quiet" label="Quiet all" />
            <ActionButton view={view} path="/workers/resume" label="Resume all" />
            <ActionButton view={view} path="/workers/stop" label="Stop all" kind="danger" />
          </div>
        )}
      </div>
      <div id="workers" data-live>
        {page.text !== "" && page.total === 0
          ? <Empty title={`No worker with "${page.text}" in its name.`} />
          : <WorkerTable view={view} workers={page.rows} />}
        <RowPages view={view} path="/workers" page={page} />
        {running.length > 0 && (
          <section aria-labelledby="processors-title">
            <h2 id="processors-title">Processors</h2>
            <Processors view={view} rows={running} />
            {busy > running.length && (
              <p class="note">
                {number(running.length)} of {number(busy)} running jobs. <a href={link(view, "/running")}>All</a>
              </p>
            )}
          </section>
        )}
      </div>
    </Layout>
  );
}

/** The rows. */
export function WorkerTable({ view, workers, isShort = false }: {
  readonly view: View;
  readonly workers: readonly WorkerInfo[];
  /** Leaves out the columns that only the workers' page has room for. */
  readonly isShort?: boolean;
}) {
  if (workers.length === 0) {
    return (
      <Empty title="No workers are running.">
        Start one with <code>jobs run handlers.js</code>. Jobs wait in their queues until then.
      </Empty>
    );
  }
  return (
    <List
      view={view}
      columns={WORKER_COLUMNS}
      rows={workers}
      looks={{
        worker: (worker) => (
          <>
            <WorkerState worker={worker} />
            <span class="class worker" title={workerName(worker)}>{workerName(worker)}</span>
            {tagsOf(worker).map((word) => <span class="tag">{word}</span>)}
            {worker.circuits?.slice(0, MAX_CIRCUITS).map(({ host, state, error }) => (
              <span class="badge warn" title={cut(maskError(error), MAX_WORD_CHARS)}>
                {cut(host, MAX_WORD_CHARS)} {state === "open" ? "circuit open" : "circuit half open"}
              </span>
            ))}
            {!isShort && (
              <span class="line medium-only">
                version {cut(worker.version, 40)}, started <Time at={worker.startedAt} now={view.now} />
              </span>
            )}
          </>
        ),
        queues: !isShort && { hasTitle: true, show: (_worker, text) => <span class="two-lines">{text}</span> },
        running: ({ busy, concurrency }) => <Usage used={busy} of={concurrency} />,
        memory: !isShort && {},
        version: !isShort && { class: "short not-medium" },
        started: !isShort && { class: "not-medium" },
        state: false,
        tag: false,
        succeeded: false,
        failed: false,
        "time spent": false,
      }}
      acts={(worker) => worker.alive && <WorkerActions view={view} worker={worker} />}
      rowOf={({ alive, busy }) => ({ "data-running": alive && busy > 0 ? "" : undefined })}
    />
  );
}

/** Returns a worker's name for display: its host and process ID. */
export function workerName({ hostname, pid }: WorkerInfo): string {
  return `${cut(hostname, MAX_WORD_CHARS)}:${pid}`;
}

/** The name or tag that its user gave a worker, before its host and process ID. */
function taggedName(worker: WorkerInfo): string {
  return [cut(worker.tag, MAX_WORD_CHARS), workerName(worker)].filter(Boolean).join(" ");
}

/** Used of a total, with a bar. */
export function Usage({ used, of: total }: { readonly used: number; readonly of: number }) {
  const share = total > 0 ? Math.min(1, Math.max(0, used / total)) : 0;
  return (
    <>
      <svg class="meter first" viewBox="0 0 72 6" preserveAspectRatio="none" aria-hidden="true">
        <rect width={(share * 72).toFixed(1)} height="6" />
      </svg>
      <span class="measured">{number(used)} / {number(total)}</span>
    </>
  );
}

function WorkerState({ worker }: { readonly worker: WorkerInfo }) {
  if (!worker.alive) return <span class="badge bad">offline</span>;
  if (worker.blocked) {
    const { class: name = "a handler", jid = "" } = worker.blocked;
    return <span class="badge bad" title={`${name} ${jid} blocks its event loop`}>blocked</span>;
  }
  if (worker.stopping) return <span class="badge warn">stopping</span>;
  if (worker.quiet) return <span class="badge warn">quiet</span>;
  return (
    <span class="badge ok" title="online">
      <span class="visually-hidden">online</span>
    </span>
  );
}

function WorkerActions({ view, worker }: { readonly view: View; readonly worker: WorkerInfo }) {
  const path = `/workers/${encodeURIComponent(worker.id)}`;
  const name = workerName(worker);
  const [verb, label] = worker.quiet ? ["resume", "Resume"] : ["quiet", "Quiet"];
  return (
    <>
      {!worker.stopping &&
        <ActionButton view={view} path={`${path}/${verb}`} label={label!} title={`${label} ${name}`} />}
      <ActionButton view={view} path={`${path}/dump`} label="Dump" title={`Dump ${name}`} />
      <ActionButton view={view} path={`${path}/stop`} label="Stop" title={`Stop ${name}`} kind="danger" />
    </>
  );
}

/** The job of each busy processor, by worker. */
export function Processors({ view, rows }: { readonly view: View; readonly rows: readonly RunningRow[] }) {
  return (
    <List
      view={view}
      columns={RUNNING_COLUMNS}
      rows={rows}
      looks={{
        processor: { class: "short" },
        worker: { class: "short host", hasTitle: true },
        job: { class: "job", show: ({ job }) => <JobName view={view} job={job} /> },
        progress: { class: "short", show: (_, text) => <Progress text={text} /> },
        queue: false,
        jid: false,
      }}
    />
  );
}

/** The dump of a worker: what each of its tasks was doing. */
export function DumpPage({ view, workerId, dump }: {
  readonly view: View;
  readonly workerId: string;
  readonly dump: string | undefined;
}) {
  return (
    <Layout view={view} title={`Dump of ${workerId}`}>
      <div class="heading">
        <a class="crumb" href={link(view, "/workers")}>Workers</a>
        <h1>Dump</h1>
        <span class="note mono">{workerId}</span>
        <span class="grow"></span>
        <ActionButton view={view} path={`/workers/${encodeURIComponent(workerId)}/dump`} label="Refresh" />
      </div>
      {dump === undefined
        ? <p class="flash bad">The worker sent no response within 10 seconds: its event loop is blocked.</p>
        : <pre class="document" tabindex={0}>{dump}</pre>}
    </Layout>
  );
}
