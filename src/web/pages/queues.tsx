/**
 * `/queues` and `/queues/NAME`.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { QueueInfo, WorkerInfo } from "../../store/admin/admin.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { formatStarts, MAX_RUNNING } from "../../store/port/limits.ts";
import { number } from "../../text/format.ts";
import { limitText, limitUse } from "../../text/limits.ts";
import { ActionButton, Empty, Hidden, jobs, link, type View } from "./view.tsx";
import { type JobList, JobListView, QueueNames } from "./job_table.tsx";
import { Layout } from "./layout.tsx";

/** All queues. */
export function QueuesPage({ view }: { readonly view: View }) {
  return (
    <Layout view={view} title="Queues">
      <div class="heading">
        <h1>Queues</h1>
        <span class="grow"></span>
        <PauseAll view={view} />
      </div>
      <div id="queues" data-live>
        <QueueTable view={view} queues={view.stats.queues} />
      </div>
    </Layout>
  );
}

/** Pausing everything, and resuming. */
function PauseAll({ view }: { readonly view: View }) {
  const all = view.stats.queues.find((queue) => queue.name === ALL_QUEUES);
  return all?.paused
    ? (
      <>
        <span class="badge warn">all paused{pausedFor(all)}</span>
        <ActionButton view={view} path="/queues/resume" label="Resume all" kind="primary" />
      </>
    )
    : <ActionButton view={view} path="/queues/pause" label="Pause all" kind="danger" />;
}

/** For how long still, if that is known. */
function pausedFor({ pausedForMs }: QueueInfo): string {
  return pausedForMs === undefined ? "" : ` for ${formatDuration(pausedForMs)}`;
}

/** What is used of its limit, with a warning where nothing is left. */
function Limited({ queue: { limit } }: { readonly queue: QueueInfo }) {
  return limit
    ? <span class={limit.freeInMs === 0 ? "badge" : "badge warn"} title={limitText(limit)}>{limitUse(limit)}</span>
    : null;
}

/** What it is limited to, to be changed. */
function LimitForm({ view, queue: { name, limit } }: { readonly view: View; readonly queue: QueueInfo }) {
  const { running, starts } = limit ?? {};
  return (
    <details class="limit">
      <summary>{limit ? `Limited: ${limitText(limit)}` : "Limit"}</summary>
      <form method="post" action={link(view, `/queues/${encodeURIComponent(name)}/limit`)}>
        <Hidden view={view} fields={{ back: view.here }} />
        <label>
          Jobs at once
          <input
            name="running"
            type="number"
            min="1"
            max={String(MAX_RUNNING)}
            value={running === undefined ? "" : String(running)}
            placeholder="any"
          />
        </label>
        <label>
          Starts in a time
          <input
            name="starts"
            value={starts === undefined ? "" : formatStarts(starts)}
            placeholder="100/1m"
            autocomplete="off"
          />
        </label>
        <button type="submit">Limit</button>
        <span class="note">Of all processes together. Empty is not limited.</span>
      </form>
    </details>
  );
}

/** The rows. */
export function QueueTable({ view, queues }: { readonly view: View; readonly queues: readonly QueueInfo[] }) {
  const named = queues.filter((queue) => queue.name !== ALL_QUEUES);
  if (named.length === 0) return <Empty>No queues yet. A push makes one.</Empty>;
  const largest = Math.max(1, ...queues.map((queue) => queue.size));
  return (
    <table class="list">
      <thead>
        <tr>
          <th>Queue</th>
          <th class="num">Jobs</th>
          <th class="bar-cell" aria-hidden="true"></th>
          <th class="num">Latency</th>
          {view.canAct && (
            <th>
              <span class="visually-hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {named.map((queue) => (
          <tr>
            <td data-label="Queue">
              <a class="class" href={link(view, `/queues/${encodeURIComponent(queue.name)}`)}>{queue.name}</a>
              {queue.paused && <span class="badge warn">paused{pausedFor(queue)}</span>}
              <Limited queue={queue} />
            </td>
            <td class="num" data-label="Jobs">{number(queue.size)}</td>
            <td class="bar-cell" aria-hidden="true">
              <svg viewBox="0 0 100 6" preserveAspectRatio="none">
                <rect width={String(queue.size / largest * 100)} height="6" rx="1" />
              </svg>
            </td>
            <td class="num" data-label="Latency">{queue.size === 0 ? "–" : formatDuration(queue.latencyMs)}</td>
            {view.canAct && (
              <td class="acts">
                <QueueActions view={view} queue={queue} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function QueueActions({ view, queue }: { readonly view: View; readonly queue: QueueInfo }) {
  const path = `/queues/${encodeURIComponent(queue.name)}`;
  return (
    <>
      <ActionButton
        view={view}
        path={`${path}/${queue.paused ? "resume" : "pause"}`}
        label={queue.paused ? "Resume" : "Pause"}
        title={`${queue.paused ? "Resume" : "Pause"} queue ${queue.name}`}
      />
      {queue.size > 0 && (
        <ActionButton
          view={view}
          path="/jobs/act"
          fields={{ in: `queue:${queue.name}`, do: "delete:all" }}
          label="Clear"
          title={`Clear queue ${queue.name}`}
          kind="danger"
        />
      )}
    </>
  );
}

/** One queue. */
export function QueuePage({ view, queue, takers, list }: {
  readonly view: View;
  readonly queue: QueueInfo;
  /** The live processes that take from it. */
  readonly takers: readonly WorkerInfo[];
  readonly list: JobList;
}) {
  return (
    <Layout view={view} title={`Queue ${queue.name}`}>
      <div class="heading">
        <h1>{queue.name}</h1>
        {queue.paused && <span class="badge warn">paused{pausedFor(queue)}</span>}
        <Limited queue={queue} />
        {view.stats.queues.some(({ name, paused }) => name === ALL_QUEUES && paused) && (
          <span class="badge warn">all queues paused</span>
        )}
        <span class="note">
          {jobs(queue.size)}
          {queue.size > 0 && `, oldest ${formatDuration(queue.latencyMs)}`}
          {takers.length === 0
            ? ", taken by no live process"
            : `, taken by ${takers.length} ${takers.length === 1 ? "process" : "processes"}`}
        </span>
        <span class="grow"></span>
        {view.canAct && <QueueActions view={view} queue={queue} />}
      </div>
      {view.canAct && <LimitForm view={view} queue={queue} />}
      <QueueNames view={view} />
      <JobListView view={view} list={list} />
    </Layout>
  );
}
