/**
 * `/signals`: the jobs that wait for a signal, such as an approval, and the form that sends one.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { parseLossless } from "../../job/json.ts";
import { inKeys } from "../../operator/actions/scope.ts";
import { signal } from "../../operator/actions/steps.ts";
import { actFor } from "../act.ts";
import { allows, type RouteRules } from "../auth/access.ts";
import { formOf } from "../http/forms.ts";
import { localPath } from "../read/paging.ts";
import { stepsOf } from "../read/steps.ts";
import type { Services, WebEnv } from "../services.ts";
import { askFirst, SignalPage } from "./confirm.tsx";
import { back, html, viewOf } from "./responses.tsx";
import { DEFAULT_EXAMPLE, SIGNAL_COLUMNS, type WaitRow } from "../../text/signals.ts";
import { readSignalPage, SIGNAL_FILTERS, type SignalList } from "../read/signals.ts";
import { Layout } from "./layout.tsx";
import { List } from "./list.tsx";
import { Empty, Hidden, link, type View } from "./view.tsx";

/** Adds page and form. Those who only send signals have them, too. */
export function signalRoutes(app: Hono<WebEnv>, services: Services, rules: RouteRules): void {
  rules.set("GET", "/signals", { access: "waits" });
  rules.set("POST", "/signals", { access: "signal" });
  app.get("/signals", async (c) => {
    const [view, list] = await Promise.all([viewOf(services, c), readSignalPage(services, c)]);
    return html(services, c, <SignalsPage view={view} list={list} />);
  });
  app.post("/signals", (c) => signalForm(services, c));
}

/** The page. */
function SignalsPage({ view, list: { rows, filter, cursor, next } }: {
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
          <form action={link(view, "/signals")} aria-label="Filter" class="inline">
            <input
              type="search"
              name="key"
              value={filter.key ?? ""}
              placeholder={`Key, such as ${SIGNAL_FILTERS.key.example}`}
              aria-label="Key"
              autocomplete="off"
            />
            <button type="submit">Find</button>
            {isFiltered && <a class="button" href={link(view, "/signals")}>Clear</a>}
          </form>
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
      view={{ ...view, canAct: allows("signal", view.visitor.role) }}
      columns={SIGNAL_COLUMNS}
      rows={rows}
      looks={{
        signal: { class: "name", hasTitle: true, show: (_, text) => <span class="class">{text}</span> },
        job: {
          hasTitle: true,
          show: ({ jid }, text) =>
            view.canRead
              ? <a href={link(view, `/jobs/${encodeURIComponent(jid)}`)}>{text || jid}</a>
              : <>{text || jid}</>,
        },
        jid: false,
      }}
      acts={({ key, jid }) => <SignalButton view={view} signalKey={key} jid={jid} />}
    />
  );
}

/** Leads to the form; nothing for a key that the visitor may not signal. */
function SignalButton({ view, signalKey: key, jid }: {
  readonly view: View;
  readonly signalKey: string;
  readonly jid: string;
}) {
  const { scope } = view.visitor;
  if (scope !== undefined && !inKeys(scope, key)) return null;
  return (
    <form method="post" action={link(view, "/signals")} class="inline">
      <Hidden view={view} fields={{ jid, key, back: view.here }} />
      <button type="submit" aria-label={`Signal ${key} of job ${jid}`}>Signal…</button>
    </form>
  );
}

/** Sends a signal once it is confirmed; without data, or with invalid data, asks for it. */
async function signalForm(services: Services, c: Context<WebEnv>): Promise<Response> {
  const form = await formOf(c, services);
  const [key, jid, data] = [form.get("key") ?? "", form.get("jid") ?? "", form.get("data")];
  const { scope } = c.get("visitor");
  // A question shows a step: only one of the keys in the scope.
  const wait = scope !== undefined && !inKeys(scope, key)
    ? undefined
    : (await stepsOf(services, jid)).find((step) => step.state === "waiting" && step.key === key);
  const askAgain = async (problem: string | undefined) => {
    const fields = { key, jid, back: localPath(form.get("back") ?? undefined) };
    const page = { fields, data: data ?? "", problem, example: wait?.example ?? DEFAULT_EXAMPLE };
    return html(
      services,
      c,
      <SignalPage {...page} view={await viewOf(services, c)} />,
      problem === undefined ? 200 : 422,
    );
  };
  if (data === null) return await askAgain(undefined);
  let value: unknown;
  try {
    // Only JSON: a mistyped true or object must not reach the job as a text.
    value = parseLossless(data);
  } catch (error) {
    return await askAgain(
      data.trim() === "" ? "Missing data; expected JSON." : `Not JSON: ${(error as Error).message}.`,
    );
  }
  const asked = await askFirst(services, c, {
    question: `Send signal ${key}?`,
    explanation: `Its data: ${data.trim().slice(0, MAX_SHOWN_DATA)}. ` +
      (wait === undefined
        ? "No step of this job waits for it any more: another job may receive it, or it is kept for the next one."
        : `Step ${wait.name} of job ${jid} receives it, unless another job has waited longer. It can't be taken back.`),
    label: "Send the signal",
  });
  if (asked !== undefined) return asked;
  const { reached } = await actFor(services, c.get("visitor"), signal, { key, data: value });
  const text = reached === undefined ? `Signal ${key} kept: no job is waiting for it.` : `Job ${reached} continues.`;
  return await back(services, c, { kind: "ok", text });
}

/** A question shows this much of the data. */
const MAX_SHOWN_DATA = 1_000;
