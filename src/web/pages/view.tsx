/**
 * The data that every page receives, and small components that pages share.
 *
 * @module
 */
import type { Child } from "hono/jsx";
import type { Stats } from "../../store/admin/admin.ts";
import { number } from "../../text/format.ts";
import { isoTime, relative } from "../../text/times.ts";
import { inQueues } from "../../operator/actions/scope.ts";
import type { Visitor } from "../auth/gate.ts";
import type { Operation } from "../operations.ts";
import type { Counts } from "../read/counts.ts";
import type { StuckCounts } from "../read/stuck_batches.ts";

/** How a search reads its text. */
export const SEARCH_HINT = 'A job is found if it contains all words; "quotes" keep a phrase together.';

/** The message of the last action. */
export interface Flash {
  readonly kind: "ok" | "bad";
  readonly text: string;
}

/** The data of the frame around a page, and the visitor's permissions. */
export interface View {
  /** The path that precedes all others: empty, or `/jobs`. */
  readonly prefix: string;
  /** The path and query of this page, without prefix. */
  readonly here: string;
  readonly visitor: Visitor;
  /** Whether the visitor is an operator. */
  readonly canAct: boolean;
  /** Whether the visitor sees the store, and not only the jobs that wait for its signals. */
  readonly canRead: boolean;
  /** Whether the visitor has a session to end. */
  readonly canLogOut: boolean;
  readonly now: number;
  readonly stats: Stats;
  readonly counts: Counts;
  /** How many batches and flows wait for their dead members. */
  readonly stuck: StuckCounts;
  readonly storeUrl: string;
  /** The URL of a trace in a tracing UI, with `{traceId}`. */
  readonly traceUrl: string | undefined;
  readonly operations: readonly Operation[];
  readonly flash: Flash | undefined;
  readonly theme: string | undefined;
}

/** Returns the URL of a path with a query; empty and undefined values are left out. */
export function link(view: Pick<View, "prefix">, path: string, query: Readonly<Record<string, unknown>> = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") params.set(name, `${value}`);
  }
  const text = params.toString();
  return `${view.prefix}${path}${text && `?${text}`}`;
}

/** Formats a number of jobs: `1 job`, `2 jobs`. */
export function jobs(count: number): string {
  return `${number(count)} ${count === 1 ? "job" : "jobs"}`;
}

/** The mark of a missing value. Cards leave the whole cell out. */
export function None() {
  return <span class="none">–</span>;
}

/** A time relative to now, with the exact one on hover. */
export function Time({ at, now }: { readonly at: number | undefined; readonly now: number }) {
  const iso = isoTime(at);
  if (iso === undefined) return <None />;
  return <time datetime={iso} title={iso}>{relative(at, now)}</time>;
}

/** The same, with the exact time next to it: in the reader's zone with scripts, else in UTC. */
export function ExactTime({ at, now }: { readonly at: number | undefined; readonly now: number }) {
  const iso = isoTime(at);
  if (iso === undefined) return <None />;
  return (
    <>
      <Time at={at} now={now} />{" "}
      <time class="exact" datetime={iso} data-exact>{iso.slice(0, 19).replace("T", " ")} UTC</time>
    </>
  );
}

/** A time in a sentence: `2026-11-26 18:34 UTC`. */
const TIME_IN_TEXT = /(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?) UTC/;

/** A text, with its times in UTC as times: scripts show them in the reader's zone. */
export function Sentence({ text }: { readonly text: string }) {
  const [before = "", day, time] = text.split(TIME_IN_TEXT, 3);
  if (day === undefined) return <>{text}</>;
  const rest = text.slice(before.length + day.length + time!.length + " ".length + " UTC".length);
  return (
    <>
      {before}
      <time datetime={`${day}T${time}Z`} data-exact>{day} {time} UTC</time>
      <Sentence text={rest} />
    </>
  );
}

/** The ID of a job, with a button that copies it. */
export function JobId({ jid }: { readonly jid: string }) {
  return (
    <span class="note mono">
      {jid}{" "}
      {jid !== "" && (
        <button type="button" class="plain script-only" data-copy={jid} aria-label="Copy the job ID">Copy</button>
      )}
    </span>
  );
}

/** The name that people know a worker by, with which its ID begins: host and process ID. */
const workerName = (id: string): string => id.split(":").slice(0, 2).join(":");

/** The path of a worker on the page of all. */
export const workerPath = (id: string): string => `/workers?name=${encodeURIComponent(workerName(id))}`;

/** Links from a job to its class, its queue, its worker, and its batch or flow. */
export function JobLinks({ view, job }: {
  readonly view: View;
  readonly job: {
    readonly class: string;
    readonly queue: string;
    readonly worker?: string | undefined;
    readonly payload?: Readonly<Record<string, unknown>> | undefined;
  };
}) {
  const { batch, flow_node: node } = job.payload ?? {};
  const segment = encodeURIComponent;
  const links: readonly (readonly [label: string, text: string | undefined, path: string])[] = [
    ["Class", job.class, `/classes/${segment(job.class)}`],
    ["Queue", job.queue, `/queues/${segment(job.queue)}`],
    ["Worker", job.worker && workerName(job.worker), workerPath(job.worker ?? "")],
    [
      typeof node === "string" ? "Flow" : "Batch",
      typeof batch === "string" ? batch : undefined,
      `/${typeof node === "string" ? "flows" : "batches"}/${segment(String(batch))}`,
    ],
  ];
  return (
    <dl class="links">
      {links.map(([label, text, path]) =>
        text !== undefined && text !== "" && (
          <div>
            <dt>{label}</dt>
            <dd>
              <a href={link(view, path)}>{text}</a>
            </dd>
          </div>
        )
      )}
    </dl>
  );
}

/** A link to the trace that a payload names, if the tracing UI is configured. */
export function TraceLink({ view, payload }: {
  readonly view: View;
  readonly payload: Readonly<Record<string, unknown>> | undefined;
}) {
  const [, traceId] = /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(String(payload?.["traceparent"])) ?? [];
  if (traceId === undefined || view.traceUrl === undefined) return null;
  return (
    <a class="button" href={view.traceUrl.replaceAll("{traceId}", traceId)} rel="noreferrer">
      Trace
    </a>
  );
}

/** Hidden fields of a form: the token, and those given. */
export function Hidden({ view, fields = {} }: {
  readonly view: View;
  readonly fields?: Readonly<Record<string, string | undefined>>;
}) {
  return (
    <>
      <input type="hidden" name="token" value={view.visitor.formToken} />
      {Object.entries(fields).map(([name, value]) =>
        value === undefined ? "" : <input type="hidden" name={name} value={value} />
      )}
    </>
  );
}

/**
 * Returns whether the visitor may act within its scope: on a queue or its jobs, or without one on everything. Buttons that would
 * be refused aren't shown; the action itself checks the scope.
 */
export function mayAct(
  { canAct, visitor: { scope } }: Pick<View, "canAct" | "visitor">,
  { queue, deletes = false }: { readonly queue?: string | undefined; readonly deletes?: boolean } = {},
): boolean {
  if (!canAct || deletes && scope?.deletes === false) return false;
  return queue === undefined ? scope?.queues === undefined : inQueues(scope, queue);
}

/** Paths and values of the field `do` of actions that delete. */
const DELETING = /\/(clear|remove)$|^\/(batches|flows)\/[^/]+\/cancel$|^\/jobs\/cancel$/;
const DELETING_WORDS = ["delete", "cancel", "clear", "rerun"];

/** Returns whether a button of a form is within the visitor's scope, as far as its path and fields tell. */
function isOffered(view: View, path: string, fields: Readonly<Record<string, string | undefined>>): boolean {
  const deletes = DELETING.test(path) || DELETING_WORDS.includes(fields["do"] ?? "");
  const [, inPath] = /^\/queues\/([^/]+)\/./.exec(path) ?? [];
  const [, inField] = /^queue:([^|]+)/.exec(fields["in"] ?? "") ?? [];
  const queue = inPath === undefined ? inField : decodeURIComponent(inPath);
  // The queue of a single job is unknown here.
  if (queue === undefined && path.startsWith("/jobs/")) {
    return view.canAct && !(deletes && view.visitor.scope?.deletes === false);
  }
  return mayAct(view, { queue, deletes });
}

/** A button that is a form of one action. */
export function ActionButton({ view, path, fields, label, kind = "", title }: {
  readonly view: View;
  readonly path: string;
  readonly fields?: Readonly<Record<string, string | undefined>>;
  readonly label: string;
  /** `on` and `off` make it a switch that shows the state that it changes. */
  readonly kind?: "" | "danger" | "primary" | "on" | "off";
  /** The name for screen readers, where the label alone is ambiguous. */
  readonly title?: string;
}) {
  if (!isOffered(view, path, fields ?? {})) return null;
  return (
    <form method="post" action={link(view, path)} class="inline">
      <Hidden view={view} fields={{ ...fields, back: view.here }} />
      <button type="submit" class={kind === "on" || kind === "off" ? `switch ${kind}` : kind} aria-label={title}>
        {label}
      </button>
    </form>
  );
}

/** A count that follows the live updates. */
export function Live({ name, value }: { readonly name: keyof Counts; readonly value: number }) {
  return <span data-stat={name}>{number(value)}</span>;
}

/** A page's empty state, with the next thing to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: Child }) {
  return (
    <div class="empty">
      <b>{title}</b>
      {children !== undefined && <p>{children}</p>}
    </div>
  );
}
