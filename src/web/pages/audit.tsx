/**
 * `/audit`: the actions of users, from where, on how many jobs, and their outcome.
 *
 * @module
 */
import type { AuditEntry } from "../../store/admin/audit.ts";
import { number } from "../../text/format.ts";
import { isoTime } from "../../text/times.ts";
import type { AuditList } from "../read/audit.ts";
import { AUDIT_FILTERS, foldPushes } from "../read/audit.ts";
import { FilterForm } from "./filters.tsx";
import { Empty, link, None, Time, type View } from "./view.tsx";
import { Layout } from "./layout.tsx";
import { num, TableHead } from "./table.tsx";

const FIELDS = (Object.keys(AUDIT_FILTERS) as (keyof typeof AUDIT_FILTERS)[]).map((name) => ({
  ...AUDIT_FILTERS[name],
  name,
}));

/** The page. Readers see it, too: it reveals less than the jobs do. */
export function AuditPage({ view, list: { events, filter, cursor, next } }: {
  readonly view: View;
  readonly list: AuditList;
}) {
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Layout view={view} title="Audit">
      <div class="heading">
        <h1>Audit</h1>
        <span class="note">actions here and on the command line; the last 10,000 are kept</span>
      </div>
      {(events.length > 0 || isFiltered) && (
        <div class="filters">
          <FilterForm view={view} path="/audit" fields={FIELDS} values={filter} />
        </div>
      )}
      <div id="rows" data-live>
        {events.length === 0
          ? isFiltered ? <Empty title="No matching activity." /> : (
            <Empty title="No activity yet.">
              Each action on jobs, queues, workers and cron entries is recorded here: who, from where, and its outcome.
            </Empty>
          )
          : <EventTable view={view} events={events} />}
      </div>
      <nav class="paging" aria-label="Pages of this list">
        <span class="grow"></span>
        {cursor !== undefined && <a href={link(view, "/audit", filter)}>← First page</a>}
        {next !== undefined && (
          <a rel="next" href={link(view, "/audit", { ...filter, cursor: next })}>
            {isFiltered ? "Show more results" : "Next"} →
          </a>
        )}
      </nav>
    </Layout>
  );
}

function EventTable({ view, events }: { readonly view: View; readonly events: readonly AuditEntry[] }) {
  return (
    <table class="list">
      <TableHead columns={["When", "User", "From", "Action", "Target", num("Jobs"), "Outcome"]} />
      <tbody>
        {foldPushes(events).map(({ at, user, by, from, action, target, details, count, outcome, folded }) => (
          <tr>
            <td class="when" data-label="When">
              <Time at={at} now={view.now} /> <span class="note">{isoTime(at)?.slice(0, 16).replace("T", " ")}</span>
            </td>
            <td class="short" data-label="User" title={user}>{user}</td>
            <td class="name" data-label="From">
              <span class="mono">{from}</span> <span class="note">{by}</span>
            </td>
            <td class="short" data-label="Action">{action}</td>
            <td data-label="Target">
              <div>
                {folded !== undefined && (
                  <span class="note">
                    {number(folded.entries)} pushes since <Time at={folded.since} now={view.now} />
                  </span>
                )}
                <span class="mono">{target}</span> {details !== undefined && <span class="note">{details}</span>}
              </div>
            </td>
            <td class="num" data-label="Jobs">{count === undefined ? <None /> : number(count)}</td>
            <td data-label="Outcome">{outcome ?? <span class="note">done</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
