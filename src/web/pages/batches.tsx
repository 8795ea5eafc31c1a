/**
 * `/batches` and `/flows`: their lists, and one of them with its counts, callbacks and actions; a flow with its graph.
 *
 * @module
 */
import type { Hono } from "hono";
import { MEMBER_STATES } from "../../job/batch.ts";
import { nodeStates, type ShownState } from "../../store/ops/flows.ts";
import type { Batch } from "../../store/port/batches.ts";
import type { FlowNode } from "../../store/port/flows.ts";
import { batchProgress, batchStateText, batchThroughput, membersText, whyNotEnded } from "../../text/batches.ts";
import { NODE_COLUMNS } from "../../text/flows.ts";
import { number } from "../../text/format.ts";
import {
  type BatchKind,
  cancelBatch,
  cancelFlow,
  findBatch,
  retryBatch,
  retryFlow,
} from "../../operator/actions/batches.ts";
import type { TypeOf } from "../../operator/shapes/shape.ts";
import { actFor } from "../act.ts";
import type { Services, WebEnv } from "../services.ts";
import { batchesOf, deadOf } from "../read/batches.ts";
import type { GroupedErrors } from "../read/grouped_errors.ts";
import { BatchListPage, deadShare, PATHS, TITLES } from "./batch_list.tsx";
import { askFirst } from "./confirm.tsx";
import { GroupTable } from "./error_groups.tsx";
import { FlowGraph } from "./flow_graph.tsx";
import { Layout } from "./layout.tsx";
import { Badge, List } from "./list.tsx";
import { Progress } from "./progress.tsx";
import { back, html, viewOf } from "./responses.tsx";
import { TableHead } from "./table.tsx";
import { ActionButton, jobs, link, Time, type View } from "./view.tsx";

/** A page draws this many nodes at most. */
const MAX_NODES = 200;

type TileState = typeof MEMBER_STATES[number] | "waiting";
const USUAL_STATES: ReadonlySet<TileState> = new Set(["waiting", "pending", "dead", "succeeded"]);

/** Adds the pages and their forms. */
export function batchPageRoutes(app: Hono<WebEnv>, services: Services): void {
  const { store } = services;
  for (const kind of ["batch", "flow"] as const) {
    const path = PATHS[kind];
    app.get(path, async (c) => {
      const [view, list] = await Promise.all([viewOf(services, c), batchesOf(services, c, kind)]);
      return html(services, c, <BatchListPage {...{ view, kind, list }} />);
    });
    app.get(`${path}/:id`, async (c) => {
      const [view, batch] = await Promise.all([viewOf(services, c), findBatch(services, kind, c.req.param("id"))]);
      const nodes = kind === "flow" ? (await store.flows.nodes(batch.id, { limit: MAX_NODES })).nodes : [];
      const [states, dead] = await Promise.all([nodeStates(store, nodes), deadOf(services, batch)]);
      return html(services, c, <OnePage {...{ view, kind, batch, nodes, states, dead }} />);
    });
    app.post(`${path}/:id/cancel`, async (c) => {
      const question = await askFirst(services, c, async () => {
        const { name, id, pending } = await findBatch(services, kind, c.req.param("id"));
        return {
          question: `Cancel ${kind} ${name ?? id}?`,
          explanation: `${jobs(pending)} of it don't run, or are aborted. This cannot be undone.`,
          label: `Cancel the ${kind}`,
        };
      });
      if (question !== undefined) return question;
      const action = kind === "flow" ? cancelFlow : cancelBatch;
      const result = await actFor(services, c.get("visitor"), action, { id: c.req.param("id") });
      return await back(services, c, { kind: "ok", text: cancelText(result, kind) });
    });
    app.post(`${path}/:id/retry`, async (c) => {
      const question = await askFirst(services, c, async () => {
        const { name, id, dead } = await findBatch(services, kind, c.req.param("id"));
        const label = `Retry ${number(dead)} dead ${dead === 1 ? "job" : "jobs"}`;
        return { question: `${label} of ${kind} ${name ?? id}?`, label };
      });
      if (question !== undefined) return question;
      const action = kind === "flow" ? retryFlow : retryBatch;
      const { changed }: Partial<TypeOf<typeof action.gives>> = await actFor(services, c.get("visitor"), action, {
        id: c.req.param("id"),
      });
      const text = changed === undefined
        ? "Running in the background…"
        : `Enqueued ${number(changed)} dead jobs again.`;
      return await back(services, c, { kind: "ok", text });
    });
  }
}

function cancelText({ changed, alreadyCancelled }: Partial<TypeOf<typeof cancelBatch.gives>>, kind: BatchKind): string {
  const cancelled = alreadyCancelled ? "Already cancelled" : "Cancelled";
  if (changed === undefined) return `${cancelled}. Its jobs are being cancelled in the background…`;
  if (alreadyCancelled && changed === 0) return "Already cancelled.";
  return kind === "flow"
    ? `${cancelled}; ${membersText(changed, { flow: true })} waited, or were queued or running.`
    : `${cancelled}; ${membersText(changed, {})} were queued or running.`;
}

function OnePage({ view, kind, batch, nodes, states, dead }: {
  readonly view: View;
  readonly kind: BatchKind;
  readonly batch: Batch;
  readonly nodes: readonly FlowNode[];
  readonly states: ReadonlyMap<string, ShownState>;
  /** Its dead members by error; undefined without any. */
  readonly dead: GroupedErrors | undefined;
}) {
  const path = `${PATHS[kind]}/${batch.id}`;
  const throughput = batchThroughput(batch, view.now);
  const reasons = batch.state === "running" ? [] : whyNotEnded(batch, view.now);
  const hasEnded = batch.pending === 0 || batch.state === "cancelled";
  return (
    <Layout view={view} title={batch.name ?? batch.id}>
      <div class="heading" id="heading" data-live>
        <a class="crumb" href={link(view, PATHS[kind])}>{TITLES[kind]}</a>
        <h1>{batch.name ?? batch.id}</h1>
        <Badge state={batch.state} />
        <span class="note mono">{batch.id}</span>
        <span class="grow"></span>
        <a class="button" href={membersPath(view, batch, "pending")}>Find {kind === "flow" ? "nodes" : "members"}</a>
        {batch.dead > 0 && batch.state !== "cancelled" && (
          <ActionButton view={view} path={`${path}/retry`} label="Retry dead" />
        )}
        {!hasEnded && <ActionButton view={view} path={`${path}/cancel`} label="Cancel" kind="danger" />}
      </div>
      <p id="progress" data-live>
        <Progress text={`${batchProgress(batch)} ended`} bad={deadShare(batch)} />{" "}
        <span class="note">· {batchStateText(batch)}{throughput && ` · ${throughput}`}</span>
      </p>
      <div id="reasons" data-live>
        {reasons.length > 0 && (
          <section class="reasons">
            <h2>Why it hasn't ended</h2>
            <ul>{reasons.map((reason) => <li>{reason}</li>)}</ul>
          </section>
        )}
      </div>
      {nodes.length > 0 && <FlowGraph view={view} nodes={nodes} states={states} />}
      <dl class="tiles" id="counts" data-live aria-label={kind === "flow" ? "Nodes by state" : "Members by state"}>
        {shownStates(batch).map((state) => {
          const count = countOf(batch, state);
          const label = `${state[0]!.toUpperCase()}${state.slice(1)}`;
          return (
            <div class={(state === "dead" || state === "failed") && count > 0 ? "bad" : ""}>
              <dt>
                {count === 0 || state === "deleted" ? label : <a href={membersPath(view, batch, state)}>{label}</a>}
              </dt>
              <dd>{number(count)}</dd>
            </div>
          );
        })}
      </dl>
      <div id="dead" data-live>
        {dead !== undefined && (
          <section>
            <h2>Dead by error</h2>
            <GroupTable view={view} set="dead" path="/dead" filter={{ q: batch.id }} groups={dead.groups} />
            {!dead.whole && <p class="note">The first {jobs(dead.looked)} of {number(batch.dead)}.</p>}
          </section>
        )}
      </div>
      {batch.callbacks.length > 0 && <Callbacks view={view} batch={batch} />}
      {nodes.length > 0 && <Nodes view={view} nodes={nodes} states={states} total={batch.total} />}
      {batch.parent !== undefined && (
        <p>
          Member of batch <a href={link(view, `/batches/${batch.parent}`)}>{batch.parent}</a>
        </p>
      )}
    </Layout>
  );
}

/** The counts add up to the total: nodes that wait are pending, too, but have a separate tile. */
function countOf(batch: Batch, state: TileState): number {
  return state === "pending" ? batch.pending - (batch.waiting ?? 0) : batch[state] ?? 0;
}

/** The states with members, and those that every batch passes through. */
function shownStates(batch: Batch): readonly TileState[] {
  const states: readonly TileState[] = batch.flow ? ["waiting", ...MEMBER_STATES] : MEMBER_STATES;
  return states.filter((state) => USUAL_STATES.has(state) || countOf(batch, state) > 0);
}

/** A batch has no list of its members: their payloads name it, and the lists of jobs find it there. Deleted ones are in none. */
function membersPath(view: View, { id: q }: Batch, state: TileState): string {
  if (state === "pending" || state === "waiting") return link(view, "/search", { q });
  if (state === "dead") return link(view, "/dead", { q });
  return link(view, "/finished", { q, state });
}

function Callbacks({ view, batch }: { readonly view: View; readonly batch: Batch }) {
  return (
    <section id="callbacks" data-live>
      <h2>Callbacks</h2>
      <table class="list">
        <TableHead columns={["Event", "Class", "Pushed", "Job"]} />
        <tbody>
          {batch.callbacks.map(({ event, class: name, jid, pushedAt }) => (
            <tr>
              <td data-label="Event">{event}</td>
              <td data-label="Class">{name}</td>
              <td data-label="Pushed">{pushedAt === undefined ? "not yet" : <Time at={pushedAt} now={view.now} />}</td>
              <td class="mono" data-label="Job">
                {pushedAt === undefined ? jid : <a href={link(view, `/jobs/${encodeURIComponent(jid)}`)}>{jid}</a>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Nodes({ view, nodes, states, total }: {
  readonly view: View;
  readonly nodes: readonly FlowNode[];
  readonly states: ReadonlyMap<string, ShownState>;
  readonly total: number;
}) {
  return (
    <section id="nodes" data-live>
      <h2>Nodes</h2>
      <List
        view={view}
        columns={NODE_COLUMNS}
        rows={nodes.map((node) => ({ node, state: states.get(node.name)! }))}
        looks={{
          node: {
            class: "name",
            hasTitle: true,
            show: ({ node }) =>
              node.state === "waiting"
                ? <span class="class">{node.name}</span>
                : <a class="class" href={link(view, `/jobs/${encodeURIComponent(node.jid)}`)}>{node.name}</a>,
          },
          state: {},
          class: { class: "name", hasTitle: true },
          jid: false,
        }}
      />
      {total > nodes.length && <p class="note">The first {number(nodes.length)} of {number(total)} nodes.</p>}
    </section>
  );
}
