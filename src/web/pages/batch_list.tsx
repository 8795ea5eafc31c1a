/**
 * `/batches` and `/flows`: their lists.
 *
 * @module
 */
import type { BatchKind } from "../../operator/actions/batches.ts";
import type { Batch, BatchState } from "../../store/port/batches.ts";
import { BATCH_COLUMNS } from "../../text/batches.ts";
import type { BatchList } from "../read/batches.ts";
import { Layout } from "./layout.tsx";
import { List } from "./list.tsx";
import { Progress } from "./progress.tsx";
import { Empty, link, None, type View } from "./view.tsx";

/** The title of each list. */
export const TITLES = { batch: "Batches", flow: "Flows" } as const;
/** The path of each list. */
export const PATHS = { batch: "/batches", flow: "/flows" } as const;

/** The states to choose from. */
const STATES: readonly BatchState[] = ["open", "running", "stuck", "succeeded", "failed", "cancelled", "abandoned"];

/** Batches or flows, with a search and a choice of their state. */
export function BatchListPage({ view, kind, list: { batches, filter, cursor, next } }: {
  readonly view: View;
  readonly kind: BatchKind;
  readonly list: BatchList;
}) {
  const path = PATHS[kind];
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Layout view={view} title={TITLES[kind]}>
      <div class="heading">
        <h1>{TITLES[kind]}</h1>
        <span class="note">latest first</span>
      </div>
      {(batches.length > 0 || isFiltered) && (
        <div class="filters">
          <form action={link(view, path)} aria-label="Filter">
            <input
              type="search"
              name="q"
              value={filter.q ?? ""}
              placeholder="Name, ID or tag…"
              aria-label="Name, ID or tag"
              class="wide"
            />
            {filter.state !== undefined && <input type="hidden" name="state" value={filter.state} />}
          </form>
          <nav class="choice" aria-label="State">
            {["", ...STATES].map((state) => (
              <a
                href={link(view, path, { ...filter, state })}
                aria-current={(filter.state ?? "") === state ? "true" : undefined}
              >
                {state === "" ? "All" : state[0]!.toUpperCase() + state.slice(1)}
              </a>
            ))}
          </nav>
        </div>
      )}
      <div id="rows" data-live>
        {batches.length === 0
          ? isFiltered
            ? <Empty title={`No matching ${TITLES[kind].toLowerCase()}${next === undefined ? "" : " so far"}.`} />
            : (
              <Empty title={`No ${TITLES[kind].toLowerCase()}.`}>
                {kind === "flow"
                  ? (
                    <>
                      A flow runs jobs after each other. Push one with <code>jobs flow push FILE</code>.
                    </>
                  )
                  : (
                    <>
                      A batch pushes a job when many jobs are done. A program opens one with{" "}
                      <code>client.batch(…)</code>.
                    </>
                  )}
              </Empty>
            )
          : (
            <List
              view={view}
              columns={BATCH_COLUMNS}
              rows={batches}
              looks={{
                id: false,
                name: {
                  class: "name",
                  show: ({ id, name }) => <a class="class" href={link(view, `${PATHS[kind]}/${id}`)}>{name ?? id}</a>,
                },
                state: {},
                done: { class: "short", show: (batch, text) => <Progress text={text} bad={deadShare(batch)} /> },
                dead: { class: ({ dead }) => dead > 0 ? "bad" : "" },
                created: {},
                tags: ({ tags }) => tags.length === 0 ? <None /> : tags.map((tag) => <span class="tag">{tag}</span>),
              }}
            />
          )}
      </div>
      <nav class="paging" aria-label="Pages of this list">
        <span class="grow"></span>
        {cursor !== undefined && <a href={link(view, path, filter)}>← First page</a>}
        {next !== undefined && (
          <a rel="next" href={link(view, path, { ...filter, cursor: next })}>
            {isFiltered ? "Show more results" : "Older"} →
          </a>
        )}
      </nav>
    </Layout>
  );
}

/** The part of its members that is dead, 0 to 1. */
export function deadShare({ dead, total }: Batch): number {
  return total > 0 ? dead / total : 0;
}
