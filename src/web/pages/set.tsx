/**
 * `/scheduled`, `/retrying` and `/dead`, and `/queued`: the jobs of one place.
 *
 * @module
 */
import type { SetName } from "../../store/port/entries.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { number } from "../../text/format.ts";
import type { JobList } from "../read/paging.ts";
import { Empty, jobs, link, type View } from "./view.tsx";
import { JobListView } from "./job_table.tsx";
import { Layout } from "./layout.tsx";

/** The title of each set. */
export const SET_TITLES: Readonly<Record<SetName, string>> = {
  scheduled: "Scheduled",
  retry: "Retrying",
  dead: "Dead",
};

const ABOUT: Readonly<Record<SetName, (count: number) => string>> = {
  scheduled: (count) => `${jobs(count)} waiting for ${count === 1 ? "its" : "their"} time`,
  retry: (count) => `${jobs(count)} failed and will run again`,
  dead: (count) => `${jobs(count)} failed for good, or ${count === 1 ? "was" : "were"} moved here`,
};

/** One set. */
export function SetPage({ view, set, list }: {
  readonly view: View;
  readonly set: SetName;
  readonly list: JobList;
}) {
  const title = SET_TITLES[set];
  return (
    <Layout view={view} title={title}>
      <div class="heading">
        <h1>{title}</h1>
        <span class="note" id="about" data-live>{ABOUT[set](list.size)}</span>
        {set === "scheduled" && view.stats.waits.wait > 0 && (
          <a href={link(view, "/signals")}>
            {number(view.stats.waits.wait)} {view.stats.waits.wait === 1 ? "waits" : "wait"} for a signal
          </a>
        )}
      </div>
      <JobListView view={view} list={list} nothing={<NothingInSet view={view} set={set} />} />
    </Layout>
  );
}

function NothingInSet({ view, set }: { readonly view: View; readonly set: SetName }) {
  switch (set) {
    case "scheduled":
      return (
        <Empty title="No scheduled jobs.">
          Schedule one with <code>jobs push CLASS --in 5m</code>
          {view.canAct && (
            <>
              {" "}or as a <a href={link(view, "/push")}>new job</a>
            </>
          )}. Recurring jobs are on <a href={link(view, "/cron")}>Cron</a>.
        </Empty>
      );
    case "retry":
      return (
        <Empty title="No jobs are waiting for a retry.">
          A job that fails is retried with growing delays. Jobs that failed for good are on{" "}
          <a href={link(view, "/dead")}>Dead</a>.
        </Empty>
      );
    case "dead":
      return (
        <Empty title="No dead jobs.">
          Jobs that failed for good are kept here, to be fixed and retried, or deleted.
        </Empty>
      );
  }
}

/** The jobs of one queue, with a choice of the others. */
export function QueuedPage({ view, list }: {
  readonly view: View;
  /** Undefined when all queues are empty. */
  readonly list: JobList | undefined;
}) {
  const filled = view.stats.queues.filter(({ name, size }) => name !== ALL_QUEUES && size > 0)
    .toSorted((a, b) => b.size - a.size);
  const shown = list?.place.in === "queue" ? list.place.queue : undefined;
  return (
    <Layout view={view} title="Queued">
      <div class="heading">
        <h1>Queued</h1>
        <span class="note" id="about" data-live>
          {jobs(view.counts.queued)} in {number(filled.length)} {filled.length === 1 ? "queue" : "queues"}
        </span>
      </div>
      <div id="queued" data-live>
        {list === undefined ? <NothingQueued view={view} /> : (
          <>
            <nav class="filters" aria-label="Queues with jobs">
              {filled.slice(0, 30).map(({ name, size }) => (
                <a
                  class="chip"
                  href={link(view, `/queued/${encodeURIComponent(name)}`)}
                  aria-current={name === shown ? "true" : undefined}
                >
                  <span>{name}</span> {number(size)}
                </a>
              ))}
              {filled.length > 30 && <a href={link(view, "/queues")}>All queues</a>}
            </nav>
            <JobListView view={view} list={list} nothing={<NothingQueued view={view} />} />
          </>
        )}
      </div>
    </Layout>
  );
}

/** The empty state of a queue. */
export function NothingQueued({ view }: { readonly view: View }) {
  return (
    <Empty title="No jobs are waiting.">
      Push one with <code>jobs push CLASS ARG…</code>
      {view.canAct && (
        <>
          {" "}or as a <a href={link(view, "/push")}>new job</a>
        </>
      )}.
    </Empty>
  );
}
