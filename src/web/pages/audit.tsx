/**
 * `/audit`: who did what, from where, to how many, and what came of it.
 *
 * @module
 */
import type { AuditEntry, AuditPage } from "../../store/admin/audit.ts";
import { number } from "../../text/format.ts";
import { Empty, link, Time, type View } from "./view.tsx";
import { Layout } from "./layout.tsx";

/** The page. Whoever may look may see it: it says less than the jobs do. */
export function AuditPage({ view, page, cursor }: {
  readonly view: View;
  readonly page: AuditPage;
  readonly cursor: string | undefined;
}) {
  return (
    <Layout view={view} title="Audit">
      <div class="heading">
        <h1>Audit</h1>
        <span class="note">what people did, here and at the command line; the last 10,000 are kept</span>
      </div>
      <div id="rows" data-live>
        {page.acts.length === 0 ? <Empty>Nobody did anything yet.</Empty> : <ActTable view={view} acts={page.acts} />}
      </div>
      <nav class="paging" aria-label="Pages of this list">
        <span class="grow"></span>
        {cursor !== undefined && <a href={link(view, "/audit")}>⇤ First</a>}
        {page.next !== undefined && <a rel="next" href={link(view, "/audit", { cursor: page.next })}>Next →</a>}
      </nav>
    </Layout>
  );
}

function ActTable({ view, acts }: { readonly view: View; readonly acts: readonly AuditEntry[] }) {
  return (
    <table class="list">
      <thead>
        <tr>
          <th>When</th>
          <th>Who</th>
          <th>From</th>
          <th>What</th>
          <th>Of what</th>
          <th class="num">How many</th>
          <th>Outcome</th>
        </tr>
      </thead>
      <tbody>
        {acts.map(({ at, user, by, from, action, target, details, count, outcome }) => (
          <tr>
            <td class="when" data-label="When">
              <Time at={at} now={view.now} />
            </td>
            <td data-label="Who">{user}</td>
            <td data-label="From">
              <span class="mono">{from}</span> <span class="note">{by}</span>
            </td>
            <td data-label="What">{action}</td>
            <td data-label="Of what">
              <span class="mono">{target}</span> {details !== undefined && <span class="note">{details}</span>}
            </td>
            <td class="num" data-label="How many">{count === undefined ? "–" : number(count)}</td>
            <td data-label="Outcome">{outcome ?? <span class="note">done</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
