/**
 * `/processes`, the dump of one, and `/busy`.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { WorkerInfo } from "../../store/admin/admin.ts";
import { number } from "../../text/format.ts";
import { cut, type JobView } from "../read/job_view.ts";
import { ActionButton, Empty, link, Time, type View } from "./view.tsx";
import { JobName } from "./job_table.tsx";
import { Layout } from "./layout.tsx";

/** What a process says of itself may be anything. */
const MAX_TAGS = 20;
const MAX_WORD_CHARS = 200;

/** All processes. */
export function ProcessesPage(
  { view, processes }: { readonly view: View; readonly processes: readonly WorkerInfo[] },
) {
  const live = processes.filter((process) => process.alive);
  return (
    <Layout view={view} title="Processes">
      <div class="heading">
        <h1>Processes</h1>
        <span class="note">{number(live.length)} alive</span>
        <span class="grow"></span>
        {live.length > 1 && (
          <>
            <ActionButton view={view} path="/processes/quiet" label="Quiet all" />
            <ActionButton view={view} path="/processes/resume" label="Resume all" />
            <ActionButton view={view} path="/processes/stop" label="Stop all" kind="danger" />
          </>
        )}
      </div>
      <div id="processes" data-live>
        <ProcessTable view={view} processes={processes} />
      </div>
    </Layout>
  );
}

/** The rows. */
export function ProcessTable({ view, processes }: { readonly view: View; readonly processes: readonly WorkerInfo[] }) {
  if (processes.length === 0) {
    return (
      <Empty>
        No process runs. <code>jobs run</code> starts one.
      </Empty>
    );
  }
  return (
    <table class="list">
      <thead>
        <tr>
          <th>Process</th>
          <th>Queues</th>
          <th class="num">Busy</th>
          <th class="num">Memory</th>
          <th>Started</th>
          <th>Heartbeat</th>
          {view.canAct && (
            <th>
              <span class="visually-hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {processes.map((process) => (
          <tr>
            <td data-label="Process">
              <span class="mono">{cut(process.hostname, MAX_WORD_CHARS)}:{process.pid}</span>
              {[process.tag, ...process.labels].filter(Boolean).slice(0, MAX_TAGS).map((word) => (
                <span class="tag">{cut(word, MAX_WORD_CHARS)}</span>
              ))}
              <State process={process} />
            </td>
            <td data-label="Queues">{queueWords(process)}</td>
            <td class="num" data-label="Busy" data-running={process.alive && process.busy > 0 ? "" : undefined}>
              {number(process.busy)} of {number(process.concurrency)}
            </td>
            <td class="num" data-label="Memory">{Math.round(process.rss / 1024 / 1024)} MB</td>
            <td data-label="Started">
              <Time at={process.startedAt} now={view.now} />
            </td>
            <td data-label="Heartbeat">
              <Time at={process.beatAt} now={view.now} />
            </td>
            {view.canAct && <td class="acts">{process.alive && <ProcessActions view={view} process={process} />}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function State({ process }: { readonly process: WorkerInfo }) {
  if (!process.alive) return <span class="badge bad">dead</span>;
  return process.quiet ? <span class="badge warn">quiet</span> : null;
}

function queueWords({ queues, weights }: WorkerInfo): string {
  const words = queues.slice(0, 30).map((queue) => {
    const name = cut(queue, MAX_WORD_CHARS);
    return weights[queue] ? `${name} ×${weights[queue]}` : name;
  });
  return words.join(", ") + (queues.length > 30 ? ` and ${queues.length - 30} more` : "");
}

function ProcessActions({ view, process }: { readonly view: View; readonly process: WorkerInfo }) {
  const path = `/processes/${encodeURIComponent(process.identity)}`;
  const name = `${process.hostname}:${process.pid}`;
  return (
    <>
      <ActionButton
        view={view}
        path={`${path}/${process.quiet ? "resume" : "quiet"}`}
        label={process.quiet ? "Resume" : "Quiet"}
        title={`${process.quiet ? "Resume" : "Quiet"} ${name}`}
      />
      <ActionButton view={view} path={`${path}/dump`} label="Dump" title={`Dump ${name}`} />
      <ActionButton view={view} path={`${path}/stop`} label="Stop" title={`Stop ${name}`} kind="danger" />
    </>
  );
}

/** What every task of a process was doing. */
export function DumpPage({ view, identity, dump }: {
  readonly view: View;
  readonly identity: string;
  readonly dump: string | undefined;
}) {
  return (
    <Layout view={view} title={`Dump of ${identity}`}>
      <div class="heading">
        <h1>Dump</h1>
        <span class="note mono">{identity}</span>
        <span class="grow"></span>
        <ActionButton view={view} path={`/processes/${encodeURIComponent(identity)}/dump`} label="Again" />
      </div>
      {dump === undefined
        ? <p class="flash bad">It does not answer within 10 seconds: its event loop is blocked.</p>
        : <pre class="document" tabindex={0}>{dump}</pre>}
      <p>
        <a href={link(view, "/processes")}>All processes</a>
      </p>
    </Layout>
  );
}

/** One running job, with who performs it. */
export interface RunningRow {
  readonly process: WorkerInfo;
  readonly task: string;
  readonly job: JobView;
}

/** What runs now. */
export function BusyPage({ view, processes, running }: {
  readonly view: View;
  readonly processes: readonly WorkerInfo[];
  readonly running: readonly RunningRow[];
}) {
  const live = processes.filter((process) => process.alive);
  const busy = live.reduce((sum, process) => sum + process.busy, 0);
  const all = live.reduce((sum, process) => sum + process.concurrency, 0);
  return (
    <Layout view={view} title="Busy">
      <div id="busy" data-live>
        <div class="heading">
          <h1>Busy</h1>
          <span class="note">
            {number(busy)} of {number(all)} processors in {number(live.length)}{" "}
            {live.length === 1 ? "process" : "processes"}
          </span>
        </div>
        {running.length === 0 ? <Empty>Nothing runs.</Empty> : (
          <table class="list">
            <thead>
              <tr>
                <th class="first">Running for</th>
                <th>Queue</th>
                <th>Job</th>
                <th>Where</th>
                {view.canAct && (
                  <th>
                    <span class="visually-hidden">Actions</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {running.map(({ process, task, job }) => (
                <tr data-running={process.alive ? "" : undefined}>
                  <td data-label="Running for">
                    {formatDuration(Math.max(0, view.now - (job.at ?? view.now)))}
                  </td>
                  <td data-label="Queue">
                    <a href={link(view, `/queues/${encodeURIComponent(job.queue)}`)}>{job.queue}</a>
                  </td>
                  <td class="job" data-label="Job">
                    <JobName view={view} job={job} />
                    {job.progress !== undefined && <span class="tag">{job.progress}</span>}
                    {job.lastLine !== undefined && <div class="line">{job.lastLine}</div>}
                    {job.log !== undefined && job.log.length > 1 && (
                      <details id={`log-${process.identity}-${task}`} class="log">
                        <summary>Log</summary>
                        <pre class="document" tabindex={0} aria-label={`Log of ${job.jid}`}>{job.log.join("\n")}</pre>
                      </details>
                    )}
                  </td>
                  <td data-label="Where">
                    <span class="mono">{process.hostname}:{process.pid}</span> <span class="note">{task}</span>
                  </td>
                  {view.canAct && (
                    <td class="acts">
                      <ActionButton
                        view={view}
                        path="/jobs/cancel"
                        fields={{ jid: job.jid, process: process.identity }}
                        label="Cancel"
                        title={`Cancel ${job.class} ${job.jid}`}
                        kind="danger"
                      />
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
      <h2 class="apart">Processes</h2>
      <div id="processes" data-live>
        <ProcessTable view={view} processes={processes} />
      </div>
    </Layout>
  );
}
