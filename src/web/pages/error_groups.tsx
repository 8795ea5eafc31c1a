/**
 * `/retrying?by=error` and `/dead?by=error`: failed jobs by class and error, with an action on each group.
 *
 * @module
 */
import type { SetName } from "../../store/port/entries.ts";
import { ERROR_COLUMNS } from "../../text/error_groups.ts";
import { number } from "../../text/format.ts";
import type { ErrorGroup } from "../../operator/query/error_groups.ts";
import type { GroupedErrors } from "../read/grouped_errors.ts";
import type { Filter } from "../read/filter.ts";
import type { FieldErrors } from "./field.tsx";
import { Filters } from "./filters.tsx";
import { Icon } from "./icons.tsx";
import { QueueNames } from "./job_table.tsx";
import { Bars } from "./bars.tsx";
import { Layout } from "./layout.tsx";
import { DRAWN, List } from "./list.tsx";
import { SET_TITLES } from "./set.tsx";
import { ActionButton, Empty, jobs, link, None, type View } from "./view.tsx";

/** The bars of a group's trend. */
const TREND_BARS = 20;

/** The groups of a set. */
export function ErrorGroupsPage({ view, set, path, filter, errors, grouped }: {
  readonly view: View;
  readonly set: SetName;
  readonly path: string;
  readonly filter: Filter;
  readonly errors: FieldErrors | undefined;
  /** Undefined if the filter is invalid. */
  readonly grouped: GroupedErrors | undefined;
}) {
  const title = SET_TITLES[set];
  return (
    <Layout view={view} title={`${title} by error`}>
      <div class="heading">
        <h1>{title}</h1>
        {grouped !== undefined && <span class="note" id="about" data-live>{aboutGroups(grouped, view.stats[set])}
        </span>}
      </div>
      <QueueNames view={view} />
      <Filters view={view} list={{ place: { in: set }, path, filter, reverse: undefined, errors }} />
      <div id="rows" data-live>
        {grouped === undefined
          ? <Empty title="Invalid filter." />
          : grouped.groups.length === 0
          ? <Empty title="No failed jobs.">Errors appear here, grouped by class and message.</Empty>
          : <GroupTable view={view} set={set} path={path} filter={filter} groups={grouped.groups} />}
      </div>
      {grouped !== undefined && grouped.more > 0 && (
        <p class="note">{number(grouped.more)} more groups have fewer jobs.</p>
      )}
    </Layout>
  );
}

function aboutGroups({ groups, more, looked, whole }: GroupedErrors, size: number): string {
  const count = groups.length + more;
  const read = whole ? `${jobs(looked)} in` : `the first ${jobs(looked)} of ${number(size)}:`;
  return `${read} ${number(count)} ${count === 1 ? "group" : "groups"}`;
}

/** The rows. Their links and buttons keep the filter. */
export function GroupTable({ view, set, path, filter, groups }: {
  readonly view: View;
  readonly set: SetName;
  readonly path: string;
  readonly filter: Filter;
  readonly groups: readonly ErrorGroup[];
}) {
  const only = (group: ErrorGroup) => ({
    ...filter,
    class: group.class,
    ...(group.error !== "" && { error: group.error }),
  });
  const count = (group: ErrorGroup, text: string) => <a href={link(view, path, only(group))}>{text}</a>;
  return (
    <List
      view={view}
      columns={{ ...ERROR_COLUMNS, trend: DRAWN }}
      rows={groups}
      looks={{
        class: {
          class: "job tall",
          show: (group, text) => (
            <>
              <a class="class" href={link(view, path, only(group))}>{text}</a>
              <div class="line error">
                {group.error !== "" && <Icon name="failed" />}
                {group.error || "no error"}
              </div>
            </>
          ),
        },
        error: false,
        dead: set === "dead" && count,
        retrying: set === "retry" && count,
        trend: (group) => <Trend group={group} />,
        example: false,
      }}
      acts={(group) =>
        group.error !== "" && (["retry", "delete"] as const).map((action) => (
          <ActionButton
            view={view}
            path="/jobs/act"
            fields={{ ...only(group), in: set, do: action, scope: "all" }}
            label={action === "retry" ? "Retry all" : "Delete all"}
            title={`${action === "retry" ? "Retry" : "Delete"} all ${group.class} with ${group.error}`}
            kind={action === "delete" ? "danger" : ""}
          />
        ))}
    />
  );
}

/** The latest failures of a group's jobs over time, from the first to the last. */
function Trend({ group: { times, lastAt } }: { readonly group: ErrorGroup }) {
  if (lastAt === undefined) return <None />;
  const firstAt = times.reduce((first, at) => Math.min(first, at), lastAt);
  const counts = new Array<number>(TREND_BARS).fill(0);
  const step = Math.max(1, (lastAt - firstAt) / TREND_BARS);
  for (const at of times) counts[Math.min(TREND_BARS - 1, Math.floor((at - firstAt) / step))]!++;
  return <Bars counts={counts} width={5} kind="failed" label={`at most ${number(Math.max(...counts))} at once`} />;
}
