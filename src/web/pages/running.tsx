/**
 * `/running`: the running jobs of all workers.
 *
 * @module
 */
import type { WorkerInfo } from "../../store/port/workers.ts";
import { number } from "../../text/format.ts";
import type { Rows } from "../read/rows.ts";
import { RowPages, RowSearch } from "./rows_nav.tsx";
import { JobName } from "./job_table.tsx";
import { Layout } from "./layout.tsx";
import { Progress } from "./progress.tsx";
import { num, TableHead } from "./table.tsx";
import { ActionButton, Empty, link, type View } from "./view.tsx";
import { runningFor, type RunningRow, workerName } from "./workers.tsx";

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
            <table class="list">
              <TableHead
                columns={[{ label: "Job", class: "job" }, "Progress", "Queue", "Worker", num("Running for")]}
                hasActions={view.canAct}
              />
              <tbody>
                {running.map((row) => <RunningJobRow view={view} row={row} />)}
              </tbody>
            </table>
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

function RunningJobRow({ view, row: { worker, task, job } }: { readonly view: View; readonly row: RunningRow }) {
  return (
    <tr data-running={worker.alive ? "" : undefined}>
      <td class="job" data-label="Job">
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
      </td>
      <td class="short" data-label="Progress">
        <Progress text={job.progress} />
      </td>
      <td class="short" data-label="Queue">
        <a href={link(view, `/queues/${encodeURIComponent(job.queue)}`)}>{job.queue}</a>
      </td>
      <td class="short host" data-label="Worker" title={`${workerName(worker)} ${task}`}>{workerName(worker)}</td>
      <td class="num" data-label="Running for">{runningFor({ since: job.at ?? view.now }, view.now)}</td>
      {view.canAct && (
        <td class="acts">
          <ActionButton
            view={view}
            path="/jobs/cancel"
            fields={{ jid: job.jid, worker: worker.id }}
            label="Cancel"
            title={`Cancel ${job.class} ${job.jid}`}
            kind="danger"
          />
        </td>
      )}
    </tr>
  );
}
