/**
 * A list of jobs with its filters, selection and actions: the same for queues, sets and search results.
 *
 * @module
 */
import type { Place } from "../../store/port/entries.ts";
import { placeName } from "../../store/ops/job_sets.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { number } from "../../text/format.ts";
import { jobColumns, STATE_BY_PLACE } from "../../text/jobs.ts";
import { isEmpty } from "../read/filter.ts";
import { isRemoval, type JobAction } from "../../operator/actions/job_ids.ts";
import { actionsIn, hasErrors } from "../read/job_sets.ts";
import type { JobView } from "../read/job_view.ts";
import type { JobList } from "../read/paging.ts";
import { Filters } from "./filters.tsx";
import { Icon } from "./icons.tsx";
import { List, type Looks } from "./list.tsx";
import { Progress } from "./progress.tsx";
import { Empty, ExactTime, Hidden, jobs, link, mayAct, type View, workerPath } from "./view.tsx";

const LABELS: Readonly<Record<JobAction, string>> = {
  retry: "Retry",
  kill: "Move to dead",
  cancel: "Cancel",
  delete: "Delete",
  move: "Move",
};

/** Returns the label of an action. Retrying a scheduled job runs it now. */
export function actionLabel(action: JobAction, place: Place): string {
  return action === "retry" && place.in === "scheduled" ? "Run now" : LABELS[action];
}

/** Returns whether the visitor may do this with jobs of a queue; without one, with those of some queue. */
export function isOffered(view: View, action: JobAction, queue: string | undefined): boolean {
  const deletes = action === "delete" || action === "cancel";
  return mayAct(view, { queue: queue ?? view.visitor.scope?.queues?.[0], deletes });
}

/** The actions with a button in each row. The bar for selected jobs has all actions. */
const ROW_ACTIONS: readonly JobAction[] = ["retry", "delete"];

/** The list with its filters, actions and paging. `nothing` is shown when the place is empty. */
export function JobListView({ view, list, nothing }: {
  readonly view: View;
  readonly list: JobList;
  readonly nothing: ReturnType<typeof Empty>;
}) {
  const { place, filter, rows, next } = list;
  const queue = place.in === "queue" ? place.queue : undefined;
  const actions = rows.length > 0 || next !== undefined
    ? actionsIn(place).filter((action) => isOffered(view, action, queue))
    : [];
  return (
    <div id="list" data-live>
      <QueueNames view={view} />
      {(list.size > 0 || !isEmpty(filter)) && <Filters view={view} list={list} />}
      <form id="jobs" method="post" action={link(view, "/jobs/act")}>
        <Hidden view={view} fields={{ in: placeName(place), back: view.here, ...filter }} />
        {/* Enter in a field must not press the first row's button. */}
        {actions.length > 0 && <button type="submit" hidden disabled></button>}
        <div id="rows">
          {rows.length === 0
            ? list.errors !== undefined
              ? <Empty title="Invalid filter." />
              : isEmpty(filter)
              ? nothing
              : <NoMatches list={list} />
            : <JobTable view={view} place={place} rows={rows} actions={actions} />}
        </div>
        {actions.length > 0 && <BulkBar list={list} actions={actions} />}
      </form>
      <Paging view={view} list={list} />
    </div>
  );
}

function NoMatches({ list: { looked, size, next } }: { readonly list: JobList }) {
  return next === undefined
    ? <Empty title="No matching jobs.">Searched {jobs(looked)}.</Empty>
    : (
      <Empty title={`No matches among the first ${number(looked)} of ${jobs(size)}.`}>
        Show more results to search further, or act on all matching jobs.
      </Empty>
    );
}

/** The actions on the selected jobs, or on all that match. Hidden by the style sheet until something is selected. */
function BulkBar({ list, actions }: { readonly list: JobList; readonly actions: readonly JobAction[] }) {
  const { place, filter, size, rows } = list;
  const all = isEmpty(filter) ? `all ${number(size)}` : "all matching";
  const isForced = rows.length === 0;
  const label = (action: JobAction) => `${actionLabel(action, place)} ${isForced ? "all matching" : "selected"}`;
  return (
    <div class={`bulk ${isForced ? "always" : ""}`} role="group" aria-label="Selected jobs">
      {isForced
        ? (
          <>
            <b>All matching</b>
            <input type="hidden" name="scope" value="all" />
          </>
        )
        : (
          <>
            <span>
              <b data-selected></b> selected
            </span>
            <label>
              <input type="checkbox" name="scope" value="all" autocomplete="off" /> Select {all}
            </label>
          </>
        )}
      {actions.filter((action) => action !== "move").map((action) => (
        <button
          type="submit"
          name="do"
          value={action}
          class={isRemoval(action) ? "danger" : ""}
          aria-label={label(action)}
        >
          {actionLabel(action, place)}
        </button>
      ))}
      {actions.includes("move") && (
        <details class="popover above end">
          <summary class="button">Move…</summary>
          <div class="panel">
            <label>
              To queue
              <input
                name="queue_to"
                list="queue-names"
                placeholder="low"
                autocomplete="off"
                aria-label="Queue to move to"
              />
            </label>
            <button type="submit" name="do" value="move" aria-label={label("move")}>Move</button>
          </div>
        </details>
      )}
    </div>
  );
}

/** The rows. Without `actions` jobs can't be selected. */
export function JobTable({ view, place, rows, actions }: {
  readonly view: View;
  readonly place: Place;
  readonly rows: readonly JobView[];
  readonly actions: readonly JobAction[];
}) {
  const rowActions = ROW_ACTIONS.filter((action) => actions.includes(action));
  return (
    <List
      view={view}
      columns={jobColumns(STATE_BY_PLACE[place.in], (job: JobView) => job)}
      rows={rows}
      looks={jobLooks(view, place)}
      tick={actions.length === 0 ? undefined : {
        all: <input type="checkbox" data-all aria-label="Select all on this page" class="script-only" />,
        of: ({ ref, class: name, jid }) => (
          <input type="checkbox" name="ref" value={ref} aria-label={`Select ${name} ${jid}`} />
        ),
      }}
      acts={rowActions.length === 0 ? undefined : (job) => (
        <div class="over">
          {rowActions.filter((action) => isOffered(view, action, job.queue)).map((action) => (
            <button
              type="submit"
              name="row"
              value={`${action}:${job.ref}`}
              class={isRemoval(action) ? "danger" : ""}
              aria-label={`${actionLabel(action, place)} ${job.class} ${job.jid}`}
            >
              {actionLabel(action, place)}
            </button>
          ))}
        </div>
      )}
    />
  );
}

/** How lists of jobs show their columns. */
export function jobLooks(view: View, place: Place): Looks<JobView> {
  return {
    job: { class: "job", show: (job) => <JobName view={view} job={job} /> },
    ...(hasErrors(place) && {
      error: {
        class: "error",
        hasTitle: true,
        show: (_, text) => (
          <div class="clip">
            {text !== "" && <Icon name="failed" />}
            {text}
          </div>
        ),
      },
      attempts: {},
    }),
    ...(place.in === "running" && {
      progress: (_, text) => <Progress text={text} />,
      worker: {
        class: "short host",
        hasTitle: true,
        show: ({ worker }, text) => worker && <a href={link(view, workerPath(worker))}>{text}</a>,
      },
    }),
    queue: place.in !== "queue" && {
      class: "short",
      show: (_, queue) => <a href={link(view, `/queues/${encodeURIComponent(queue)}`)}>{queue}</a>,
    },
    // The only time that a person plans with, in a list with room for it.
    ...(place.in === "scheduled" && { due: { show: ({ at }) => <ExactTime at={at} now={view.now} /> } }),
    jid: false,
  };
}

/** The class, the tags, and the arguments as far as there is room. */
export function JobName({ view, job }: { readonly view: View; readonly job: JobView }) {
  return (
    <>
      <a class="class" href={jobPath(view, job)}>{job.class}</a>
      {job.tags.map((tag) => <span class="tag">{tag}</span>)}
      <code class="args">{job.args}</code>
    </>
  );
}

/** The page of a job; its ref saves a search for its ID. */
function jobPath(view: View, job: JobView): string {
  return link(view, `/jobs/${encodeURIComponent(job.jid || "-")}`, { ref: job.ref });
}

function Paging({ view, list }: { readonly view: View; readonly list: JobList }) {
  const { path, filter, cursor, next, reverse, looked, size } = list;
  const order = reverse ? "reverse" : "forward";
  if (cursor === undefined && next === undefined) return null;
  return (
    <nav class="paging" aria-label="Pages of this list">
      {cursor !== undefined && <a href={link(view, path, { ...filter, order })}>← First page</a>}
      {!isEmpty(filter) && next !== undefined && (
        <span class="note">Searched {number(looked)} of {jobs(size)} for this page.</span>
      )}
      <span class="grow"></span>
      {next !== undefined && (
        <a rel="next" href={link(view, path, { ...filter, order, cursor: next })}>
          {isEmpty(filter) ? "Next" : "Show more results"} →
        </a>
      )}
    </nav>
  );
}

/** Names to choose a queue from. */
export function QueueNames({ view }: { readonly view: View }) {
  return (
    <datalist id="queue-names">
      {view.stats.queues.filter(({ name }) => name !== ALL_QUEUES).slice(0, 200).map(({ name }) => (
        <option value={name}></option>
      ))}
    </datalist>
  );
}
