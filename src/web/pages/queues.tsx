/**
 * `/queues`: all queues.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { QueueSeries } from "../../store/port/queue_samples.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { number } from "../../text/format.ts";
import { heldGroupsText } from "../../text/groups.ts";
import { limitText, limitUse } from "../../text/limits.ts";
import { pauseText, QUEUE_COLUMNS } from "../../text/queues.ts";
import { Bars } from "./bars.tsx";
import { ActionButton, Empty, jobs, link, None, type View } from "./view.tsx";
import type { QueueRow } from "../read/queue_rows.ts";
import type { Rows } from "../read/rows.ts";
import { RowPages, RowSearch } from "./rows_nav.tsx";
import { Layout } from "./layout.tsx";
import { Badge, DRAWN, List } from "./list.tsx";

/** All queues. */
export function QueuesPage({ view, page, series }: {
  readonly view: View;
  readonly page: Rows<QueueRow>;
  /** The last hour of each queue. */
  readonly series: readonly QueueSeries[];
}) {
  const named = view.stats.queues.filter(({ name }) => name !== ALL_QUEUES);
  return (
    <Layout view={view} title="Queues">
      <div class="heading">
        <h1>Queues</h1>
        <span class="note" id="about" data-live>
          {jobs(view.counts.queued)} in {number(named.length)} {named.length === 1 ? "queue" : "queues"}
        </span>
        <span class="grow"></span>
        <RowSearch view={view} path="/queues" page={page} label="Name of a queue" />
        <PauseAll view={view} />
      </div>
      <div id="queues" data-live>
        {page.text !== "" && page.total === 0
          ? <Empty title={`No queue with "${page.text}" in its name.`} />
          : <QueueTable view={view} queues={page.rows} series={series} />}
        <RowPages view={view} path="/queues" page={page} />
      </div>
    </Layout>
  );
}

/** Pauses or resumes all queues. */
function PauseAll({ view }: { readonly view: View }) {
  const all = view.stats.queues.find((queue) => queue.name === ALL_QUEUES);
  return all?.paused
    ? (
      <>
        <span class="badge warn">all {pauseText(all)}</span>
        <ActionButton view={view} path="/queues/resume" label="Resume all" kind="primary" />
      </>
    )
    : <ActionButton view={view} path="/queues/pause" label="Pause all" kind="danger" />;
}

/** Whether a queue is paused or has no worker, and the use of its limits: a warning when one is reached. */
export function QueueState({ queue }: { readonly queue: QueueRow }) {
  const paused = pauseText(queue);
  const { limit, each, heldGroups, workers, size } = queue;
  return (
    <>
      {paused !== undefined && <Badge state={paused} />}
      {workers.length === 0 && <span class={size > 0 ? "badge bad" : "badge"}>no worker</span>}
      {each !== undefined && <span class="badge" title={`Limit of each group: ${each}`}>each group: {each}</span>}
      {heldGroups !== undefined && <span class="badge warn">{heldGroupsText(heldGroups)}</span>}
      {limit && (
        <span class={limit.freeInMs === 0 ? "badge" : "badge warn"} title={limitText(limit)}>{limitUse(limit)}</span>
      )}
    </>
  );
}

/** The rows. */
export function QueueTable({ view, queues, series }: {
  readonly view: View;
  readonly queues: readonly QueueRow[];
  /** The last hour of each queue; without it the table has no column for it. */
  readonly series?: readonly QueueSeries[];
}) {
  const named = queues.filter((queue) => queue.name !== ALL_QUEUES);
  if (named.length === 0) {
    return (
      <Empty title="No queues yet.">
        The first push creates one: <code>jobs push CLASS -q NAME</code>.
      </Empty>
    );
  }
  const seriesOf = series && new Map(series.map((one) => [one.queue, one]));
  const largest = Math.max(1, ...named.map((queue) => queue.size));
  return (
    <List
      view={view}
      columns={{ ...QUEUE_COLUMNS, "last hour": DRAWN }}
      rows={named}
      looks={{
        queue: (queue) => (
          <>
            <a class="class" href={link(view, `/queues/${encodeURIComponent(queue.name)}`)}>{queue.name}</a>
            <QueueState queue={queue} />
          </>
        ),
        queued: ({ size }, text) => (
          <>
            <svg
              class="meter first"
              viewBox="0 0 72 6"
              preserveAspectRatio="none"
              aria-hidden="true"
              data-empty={size === 0}
            >
              <rect width={(size / largest * 72).toFixed(1)} height="6" />
            </svg>
            <span class="measured">{text}</span>
          </>
        ),
        latency: {},
        state: false,
        workers: series !== undefined && {},
        "last hour": series !== undefined && (({ name }) => <LatencyBars series={seriesOf?.get(name)} />),
      }}
      acts={(queue) => <QueueActions view={view} queue={queue} />}
    />
  );
}

function LatencyBars({ series }: { readonly series: QueueSeries | undefined }) {
  if (series === undefined) return <None />;
  const values = series.latenciesMs.map((value) => value ?? 0);
  const max = Math.max(...values);
  if (max === 0) return <None />;
  return (
    <div class="scaled">
      <Bars counts={values} width={3} label={`Latency, at most ${formatDuration(max)} in the last hour`} />
      <span class="note">≤ {formatDuration(max)}</span>
    </div>
  );
}

/** The buttons of a queue. */
export function QueueActions({ view, queue }: { readonly view: View; readonly queue: QueueRow }) {
  const path = `/queues/${encodeURIComponent(queue.name)}`;
  const [verb, label] = queue.paused ? ["resume", "Resume"] : ["pause", "Pause"];
  return (
    <>
      <ActionButton view={view} path={`${path}/${verb}`} label={label!} title={`${label} queue ${queue.name}`} />
      {queue.size > 0 && (
        <ActionButton
          view={view}
          path="/jobs/act"
          fields={{ in: `queue:${queue.name}`, do: "delete", scope: "all" }}
          label="Clear"
          title={`Clear queue ${queue.name}`}
          kind="danger"
        />
      )}
      {queue.size === 0 && queue.workers.length === 0 && !queue.paused && queue.limit === undefined && (
        <ActionButton view={view} path={`${path}/forget`} label="Forget" title={`Forget queue ${queue.name}`} />
      )}
    </>
  );
}
