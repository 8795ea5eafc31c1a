/**
 * A list of jobs with its filters, ticks and actions: the same for a queue, the sets and what a search found.
 *
 * @module
 */
import type { Place } from "../../store/admin/admin.ts";
import { placeName } from "../../store/ops/job_sets.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { number } from "../../text/format.ts";
import { type Filter, FILTERS, isEmpty } from "../read/filter.ts";
import { actionsIn, type JobAction, placePath } from "../read/job_sets.ts";
import type { JobView } from "../read/job_view.ts";
import { Empty, Hidden, jobs, link, Time, type View } from "./view.tsx";

/** What the actions are called, by place. */
const LABELS: Readonly<Record<JobAction, string>> = {
  retry: "Retry",
  kill: "Kill",
  cancel: "Cancel",
  delete: "Delete",
  move: "Move",
};

/** The label of an action: what retries a failed job just runs one that waits for its time. */
export function actionLabel(action: JobAction, place: Place): string {
  return action === "retry" && place.in === "scheduled" ? "Run now" : LABELS[action];
}

/** What the time of a row means. */
const TIME_HEADINGS: Readonly<Record<Place["in"], string>> = {
  queue: "Enqueued",
  scheduled: "Due",
  retry: "Next try",
  dead: "Died",
  leased: "Since",
};

/** One page of a list. */
export interface JobList {
  readonly place: Place;
  readonly filter: Filter;
  readonly rows: readonly JobView[];
  readonly size: number;
  readonly cursor: string | undefined;
  readonly next: string | undefined;
  readonly reverse: boolean;
  /** How many were looked at for these rows. */
  readonly looked: number;
}

/** The list with everything around it. */
export function JobListView({ view, list }: { readonly view: View; readonly list: JobList }) {
  const { place, filter, rows, size } = list;
  const form = "jobs";
  const acts = view.canAct && rows.length > 0 ? actionsIn(place) : [];
  return (
    <>
      <FilterForm view={view} list={list} />
      <form id={form} method="post" action={link(view, "/jobs/act")} data-ticks>
        <Hidden view={view} fields={{ in: placeName(place), back: view.here, ...filter }} />
        {acts.length > 0 && <Toolbar list={list} actions={acts} />}
        <div id="rows" data-live>
          {rows.length === 0
            ? <Nothing list={list} />
            : <JobTable view={view} place={place} rows={rows} ticks={acts.length > 0} />}
        </div>
      </form>
      <Paging view={view} list={list} />
      {size > 0 && !isEmpty(filter) && list.next !== undefined && (
        <p class="note">Looked at {number(list.looked)} of {jobs(size)} for this page.</p>
      )}
    </>
  );
}

function Nothing({ list }: { readonly list: JobList }) {
  const { size, filter, next } = list;
  if (isEmpty(filter)) return <Empty>Nothing here.</Empty>;
  return next === undefined
    ? <Empty>None of {jobs(size)} fits.</Empty>
    : <Empty>Nothing found among the first {number(list.looked)}. “Look further” goes on.</Empty>;
}

function FilterForm({ view, list: { place, filter, reverse } }: { readonly view: View; readonly list: JobList }) {
  const names = (Object.keys(FILTERS) as (keyof Filter)[]).filter((name) =>
    !(name === "queue" && place.in === "queue") &&
    !(name === "error" && (place.in === "queue" || place.in === "scheduled"))
  );
  return (
    <form class="filters" action={link(view, placePath(place))} aria-label="Filter">
      {names.map((name) => (
        <input
          type="search"
          name={name}
          value={filter[name] ?? ""}
          placeholder={FILTERS[name]}
          aria-label={FILTERS[name]}
          class={name === "q" ? "wide" : ""}
        />
      ))}
      {reverse && <input type="hidden" name="order" value="reverse" />}
      <button type="submit">Filter</button>
      {!isEmpty(filter) && <a href={link(view, placePath(place))}>Clear</a>}
    </form>
  );
}

function Toolbar({ list, actions }: { readonly list: JobList; readonly actions: readonly JobAction[] }) {
  const { place, filter, size } = list;
  const all = isEmpty(filter) ? `All ${number(size)}` : "All matching";
  const buttons = (scope: "ticked" | "all", whom: string) =>
    actions.filter((action) => action !== "move").map((action) => (
      <button
        type="submit"
        name="do"
        value={`${action}:${scope}`}
        class={action === "delete" || action === "cancel" ? "danger" : ""}
        aria-label={`${actionLabel(action, place)} ${whom.toLowerCase()}`}
      >
        {actionLabel(action, place)}
      </button>
    ));
  return (
    <div class="toolbar">
      <fieldset>
        <legend>
          Ticked <span data-ticked></span>
        </legend>
        {buttons("ticked", "Ticked")}
      </fieldset>
      <fieldset>
        <legend>{all}</legend>
        {buttons("all", all)}
      </fieldset>
      <fieldset class="move">
        <legend>Move to</legend>
        <input
          name="queue_to"
          list="queue-names"
          placeholder="queue"
          autocomplete="off"
          aria-label="Queue to move to"
        />
        <button type="submit" name="do" value="move:ticked" aria-label="Move ticked">ticked</button>
        <button type="submit" name="do" value="move:all" aria-label={`Move ${all.toLowerCase()}`}>
          {all.toLowerCase()}
        </button>
      </fieldset>
    </div>
  );
}

/** The rows. */
export function JobTable({ view, place, rows, ticks }: {
  readonly view: View;
  readonly place: Place;
  readonly rows: readonly JobView[];
  readonly ticks: boolean;
}) {
  const failed = place.in === "retry" || place.in === "dead";
  return (
    <table class="list">
      <thead>
        <tr>
          {ticks && (
            <th class="tick">
              <input type="checkbox" data-all aria-label="Tick all on this page" class="script-only" />
            </th>
          )}
          <th>{TIME_HEADINGS[place.in]}</th>
          {failed && <th class="num">Failures</th>}
          {place.in !== "queue" && <th>Queue</th>}
          <th>Job</th>
          {failed && <th>Error</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((job) => (
          <tr>
            {ticks && (
              <td class="tick">
                <input type="checkbox" name="ref" value={job.ref} aria-label={`Tick ${job.class} ${job.jid}`} />
              </td>
            )}
            <td class="when" data-label={TIME_HEADINGS[place.in]}>
              <a href={jobPath(view, job)}>
                <Time at={job.at ?? job.enqueuedAt ?? job.createdAt} now={view.now} />
              </a>
            </td>
            {failed && <td class="num" data-label="Failures">{number(job.failures)}</td>}
            {place.in !== "queue" && (
              <td data-label="Queue">
                <a href={link(view, `/queues/${encodeURIComponent(job.queue)}`)}>{job.queue}</a>
              </td>
            )}
            <td class="job" data-label="Job">
              <JobName view={view} job={job} />
            </td>
            {failed && <td class="error" data-label="Error">{job.error}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The class, the arguments, the tags. */
export function JobName({ view, job }: { readonly view: View; readonly job: JobView }) {
  return (
    <>
      <a class="class" href={jobPath(view, job)}>{job.class}</a>
      <code class="args">{job.args}</code>
      {job.tags.map((tag) => <span class="tag">{tag}</span>)}
    </>
  );
}

/** The page of a job; its ref spares looking for it. */
function jobPath(view: View, job: JobView): string {
  return link(view, `/jobs/${encodeURIComponent(job.jid || "-")}`, { ref: job.ref });
}

function Paging({ view, list }: { readonly view: View; readonly list: JobList }) {
  const { place, filter, cursor, next, reverse } = list;
  const order = reverse ? "reverse" : undefined;
  const path = placePath(place);
  const [first, last] = place.in === "queue" ? ["Oldest first", "Newest first"] : ["Earliest first", "Latest first"];
  return (
    <nav class="paging" aria-label="Pages of this list">
      <a href={link(view, path, { ...filter, order: "forward" })} aria-current={reverse ? undefined : "true"}>
        {first}
      </a>
      <a href={link(view, path, { ...filter, order: "reverse" })} aria-current={reverse ? "true" : undefined}>{last}</a>
      <span class="grow"></span>
      {cursor !== undefined && <a href={link(view, path, { ...filter, order })}>⇤ First</a>}
      {next !== undefined && (
        <a rel="next" href={link(view, path, { ...filter, order, cursor: next })}>
          {isEmpty(filter) ? "Next" : "Look further"} →
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
