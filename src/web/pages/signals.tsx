/**
 * `/signals`: the jobs that wait for a signal, such as an approval.
 *
 * @module
 */
import { SIGNAL_COLUMNS, type WaitRow } from "../../text/signals.ts";
import { SIGNAL_FILTERS, type SignalList } from "../read/signals.ts";
import { FilterForm } from "./filters.tsx";
import { Layout } from "./layout.tsx";
import { List } from "./list.tsx";
import { ActionButton, Empty, link, type View } from "./view.tsx";

/** The page. */
export function SignalsPage({ view, list: { rows, filter, cursor, next } }: {
  readonly view: View;
  readonly list: SignalList;
}) {
  const isFiltered = filter.key !== undefined;
  return (
    <Layout view={view} title="Signals">
      <div class="heading">
        <h1>Signals</h1>
        <span class="note">jobs that wait for a signal, such as an approval; the first to time out first</span>
      </div>
      {(rows.length > 0 || isFiltered) && (
        <div class="filters">
          <FilterForm
            view={view}
            path="/signals"
            fields={[{ ...SIGNAL_FILTERS.key, name: "key" }]}
            values={filter}
          />
        </div>
      )}
      <div id="rows" data-live>
        {rows.length > 0
          ? <WaitTable view={view} rows={rows} />
          : isFiltered
          ? <Empty title="No job waits for such a signal." />
          : (
            <Empty title="No job waits for a signal.">
              A handler waits for one with <code>ctx.waitFor</code>, for example until a person approves an order.
            </Empty>
          )}
      </div>
      <nav class="paging" aria-label="Pages of this list">
        <span class="grow"></span>
        {cursor !== undefined && <a href={link(view, "/signals", filter)}>← First page</a>}
        {next !== undefined && <a rel="next" href={link(view, "/signals", { ...filter, cursor: next })}>Next →</a>}
      </nav>
    </Layout>
  );
}

function WaitTable({ view, rows }: { readonly view: View; readonly rows: readonly WaitRow[] }) {
  return (
    <List
      view={view}
      columns={SIGNAL_COLUMNS}
      rows={rows}
      looks={{
        signal: { class: "name", hasTitle: true, show: (_, text) => <span class="class">{text}</span> },
        job: {
          hasTitle: true,
          show: ({ jid }, text) => <a href={link(view, `/jobs/${encodeURIComponent(jid)}`)}>{text || jid}</a>,
        },
        jid: false,
      }}
      acts={({ key, jid }) => (
        <ActionButton
          view={view}
          path="/jobs/steps"
          fields={{ do: "signal", jid, key }}
          label="Signal…"
          title={`Signal ${key} of job ${jid}`}
        />
      )}
    />
  );
}
