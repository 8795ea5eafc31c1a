/**
 * `/retrying?group=error` and `/dead?group=error`: failed jobs by class and error, with an action on each group.
 *
 * @module
 */
import type { SetName } from "../../store/admin/admin.ts";
import { number } from "../../text/format.ts";
import type { ErrorGroup, GroupedErrors } from "../read/error_groups.ts";
import { describeFilter, type Filter, isEmpty } from "../read/filter.ts";
import { Icon } from "./icons.tsx";
import { Bars } from "./bars.tsx";
import { Layout } from "./layout.tsx";
import { SET_TITLES } from "./set.tsx";
import { ActionButton, Empty, jobs, link, Time, type View } from "./view.tsx";
import { num, TableHead } from "./table.tsx";

/** The bars of a group's trend. */
const TREND_BARS = 20;

/** The groups of a set. */
export function ErrorGroupsPage({ view, set, path, filter, grouped }: {
  readonly view: View;
  readonly set: SetName;
  readonly path: string;
  readonly filter: Filter;
  readonly grouped: GroupedErrors;
}) {
  const { groups, more, looked, whole } = grouped;
  const title = SET_TITLES[set];
  return (
    <Layout view={view} title={`${title} by error`}>
      <div class="heading">
        <h1>{title}</h1>
        <span class="note">
          {whole ? `${jobs(looked)} in ` : `the first ${jobs(looked)} of ${number(view.stats[set])}: `}
          {number(groups.length + more)} {groups.length + more === 1 ? "group" : "groups"}
        </span>
        <span class="grow"></span>
        <nav class="choice" aria-label="View">
          <a href={link(view, path, filter)}>Jobs</a>
          <a href={link(view, path, { ...filter, group: "error" })} aria-current="true">Group by error</a>
        </nav>
      </div>
      {!isEmpty(filter) && (
        <div class="filters">
          <span class="chip">
            <span>{describeFilter(filter)}</span>
            <a href={link(view, path, { group: "error" })} aria-label="Remove the filter">
              <Icon name="x" />
            </a>
          </span>
        </div>
      )}
      <div id="rows" data-live>
        {groups.length === 0
          ? <Empty title="No failed jobs.">Errors appear here, grouped by class and message.</Empty>
          : <GroupTable view={view} set={set} path={path} filter={filter} groups={groups} />}
      </div>
      {more > 0 && <p class="note">{number(more)} more groups have fewer jobs.</p>}
    </Layout>
  );
}

function GroupTable({ view, set, path, filter, groups }: {
  readonly view: View;
  readonly set: SetName;
  readonly path: string;
  readonly filter: Filter;
  readonly groups: readonly ErrorGroup[];
}) {
  return (
    <table class="list">
      <TableHead
        columns={["Class", { label: "Error", class: "error" }, num("Jobs"), "Trend", "First seen", "Last seen"]}
        hasActions={view.canAct}
      />
      <tbody>
        {groups.map((group) => {
          const only = { ...filter, class: group.class, ...(group.error !== "" && { error: group.error }) };
          return (
            <tr>
              <td class="name" data-label="Class" title={group.class}>
                <a class="class" href={link(view, path, only)}>{group.class}</a>
              </td>
              <td class="error" data-label="Error" title={group.error}>
                {group.error === "" ? <span class="note">no error</span> : (
                  <>
                    <Icon name="failed" />
                    {group.error}
                  </>
                )}
              </td>
              <td class="num" data-label="Jobs">
                <a href={link(view, path, only)}>{number(group.count)}</a>
              </td>
              <td data-label="Trend">
                <Trend group={group} />
              </td>
              <td class="nowrap" data-label="First seen">
                <Time at={group.firstAt} now={view.now} />
              </td>
              <td class="nowrap" data-label="Last seen">
                <Time at={group.lastAt} now={view.now} />
              </td>
              {view.canAct && (
                <td class="acts">
                  {group.error !== "" && (["retry", "delete"] as const).map((action) => (
                    <ActionButton
                      view={view}
                      path="/jobs/act"
                      fields={{ ...only, in: set, do: action, scope: "all" }}
                      label={action === "retry" ? "Retry all" : "Delete all"}
                      title={`${action === "retry" ? "Retry" : "Delete"} all ${group.class} with ${group.error}`}
                      kind={action === "delete" ? "danger" : ""}
                    />
                  ))}
                </td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The failures of a group over time, from the first to the last. */
function Trend({ group: { times, firstAt, lastAt } }: { readonly group: ErrorGroup }) {
  if (firstAt === undefined || lastAt === undefined) return <span class="note">–</span>;
  const counts = new Array<number>(TREND_BARS).fill(0);
  const step = Math.max(1, (lastAt - firstAt) / TREND_BARS);
  for (const at of times) counts[Math.min(TREND_BARS - 1, Math.floor((at - firstAt) / step))]!++;
  return <Bars counts={counts} width={5} kind="failed" label={`at most ${number(Math.max(...counts))} at once`} />;
}
