/**
 * `/running`: the running jobs of all workers.
 *
 * @module
 */
import type { WorkerInfo } from "../../store/port/workers.ts";
import { number } from "../../text/format.ts";
import type { Rows } from "../read/rows.ts";
import type { RunningRow } from "../read/running.ts";
import { RowPages, RowSearch } from "./rows_nav.tsx";
import { JobName } from "./job_table.tsx";
import { Layout } from "./layout.tsx";
import { List } from "./list.tsx";
import { Progress } from "./progress.tsx";
import { ActionButton, Empty, link, type View, workerPath } from "./view.tsx";
import { RUNNING_COLUMNS } from "./workers.tsx";

/** The jobs that workers perform now. */
export function RunningPage({ view, workers, page, running }: {
  readonly view: View;
  readonly workers: readonly WorkerInfo[];
  readonly page: Rows<unknown>;
  readonly running: readonly RunningRow[];
}) {
  const online = workers.filter((worker) => worker.alive);
  const used = online.reduce((sum, worker) => sum + worker.busy, 0);
  const all = online.reduce((sum, worker) => sum + worker.concurrency, 0);
  return (
    <Layout view={view} title="Running">
      <div id="running" data-live>
        <div class="heading">
          <h1>Running</h1>
          <span class="note">
            {number(used)} of {number(all)} processors in {number(online.length)}{" "}
            {online.length === 1 ? "worker" : "workers"}
          </span>
          <span class="grow"></span>
          <RowSearch view={view} path="/running" page={page} label="Worker or queue" />
        </div>
        {running.length === 0 && page.text !== ""
          ? <Empty title={`No running job of a worker or queue with "${page.text}" in its name.`} />
          : running.length === 0
          ? <NothingRunning view={view} online={online.length} />
          : (
            <List
              view={view}
              columns={RUNNING_COLUMNS}
              rows={running}
              looks={{
                job: { class: "job", show: (row) => <JobAndLog view={view} row={row} /> },
                progress: { class: "short", show: (_, text) => <Progress text={text} /> },
                queue: {
                  class: "short",
                  show: (_, queue) => <a href={link(view, `/queues/${encodeURIComponent(queue)}`)}>{queue}</a>,
                },
                worker: {
                  class: "short host",
                  hasTitle: true,
                  show: ({ worker }, text) => <a href={link(view, workerPath(worker.id))}>{text}</a>,
                },
                processor: false,
                jid: false,
              }}
              acts={({ worker, job }) => (
                <ActionButton
                  view={view}
                  path="/jobs/cancel"
                  fields={{ jid: job.jid, worker: worker.id }}
                  label="Cancel"
                  title={`Cancel ${job.class} ${job.jid}`}
                  kind="danger"
                />
              )}
              rowOf={({ worker }) => ({ "data-running": worker.alive ? "" : undefined })}
            />
          )}
        <RowPages view={view} path="/running" page={page} />
      </div>
    </Layout>
  );
}

function NothingRunning({ view, online }: { readonly view: View; readonly online: number }) {
  if (online === 0) {
    return (
      <Empty title="No jobs running, and no workers.">
        Start a worker with <code>jobs run handlers.js</code>.
      </Empty>
    );
  }
  return (
    <Empty title="No jobs running.">
      {view.counts.queued > 0
        ? (
          <>
            Jobs are <a href={link(view, "/queued")}>queued</a>: see why on <a href={link(view, "/")}>Overview</a>.
          </>
        )
        : "All queues are empty; the workers are waiting for jobs."}
    </Empty>
  );
}

function JobAndLog({ view, row: { worker, task, job } }: { readonly view: View; readonly row: RunningRow }) {
  return (
    <>
      <div class="one-line">
        <JobName view={view} job={job} />
      </div>
      {job.log !== undefined && job.log.length > 1
        ? (
          <details id={`log-${worker.id}-${task}`} class="log">
            <summary>{job.lastLine ?? "Log"}</summary>
            <pre class="document" tabindex={0} aria-label={`Log of ${job.jid}`}>{job.log.join("\n")}</pre>
          </details>
        )
        : job.lastLine !== undefined && <div class="line">{job.lastLine}</div>}
    </>
  );
}
