/**
 * `/jobs/JID`: one job, where it is and why, what it was given, how each try failed, what it logged; and the form to push it again, changed.
 *
 * @module
 */
import { readCauses } from "../../job/failure.ts";
import { readWireTime } from "../../job/raw.ts";
import type { Entry } from "../../store/admin/admin.ts";
import { placeName } from "../../store/ops/job_sets.ts";
import { number } from "../../text/format.ts";
import { isoTime } from "../../text/times.ts";
import { actionsIn } from "../read/job_sets.ts";
import { cut, document, type JobView, text } from "../read/job_view.ts";
import { ActionButton, Empty, Hidden, link, type View } from "./view.tsx";
import { Attempts, attemptsOf, Causes, LogTail } from "./attempts.tsx";
import { actionLabel, QueueNames } from "./job_table.tsx";
import { Layout } from "./layout.tsx";
import { StateDiagram } from "./states.tsx";

/** Jobs that are taken before one are counted so far. */
export const FAR = 10_000;

/** One place where the job is. Usually it is in one. */
export interface JobDetail {
  readonly entry: Entry;
  readonly job: JobView;
  readonly reasons: readonly string[];
  readonly backtrace: readonly string[];
  /** How many are taken before it, counted up to {@linkcode FAR}; undefined when it is in no queue. */
  readonly before: number | undefined;
  /** What it last said of how far it is. */
  readonly progress: string | undefined;
  /** The last lines it logged. */
  readonly log: readonly string[];
}

/** The page. */
export function JobPage({ view, jid, details }: {
  readonly view: View;
  readonly jid: string;
  readonly details: readonly JobDetail[];
}) {
  return (
    <Layout view={view} title={`Job ${jid}`}>
      {details.length === 0
        ? (
          <>
            <h1 class="mono">{jid}</h1>
            <Empty title="Job not found.">
              It may have finished without a record, been deleted, or live in another store.
            </Empty>
          </>
        )
        : details.map((detail) => <Detail view={view} detail={detail} />)}
    </Layout>
  );
}

function Detail({ view, detail }: { readonly view: View; readonly detail: JobDetail }) {
  const { entry, job, reasons, backtrace, log } = detail;
  return (
    <article>
      <div class="heading">
        <h1>{job.class}</h1>
        <span class={`badge ${entry.place.in}`}>{stateName(entry)}</span>
        <span class="note mono">{job.jid}</span>
        <span class="grow"></span>
        <JobActions view={view} detail={detail} />
      </div>
      <States view={view} detail={detail} />
      {reasons.length > 0 && (
        <section class="reasons">
          <h2>Why it is not running</h2>
          <ul>{reasons.map((reason) => <li>{reason}</li>)}</ul>
        </section>
      )}
      {job.payload?.error_class !== undefined && (
        <section>
          <h2>Last error</h2>
          <p class="failure">
            <b>{text(job.payload.error_class)}</b> {text(job.payload.error_message)}
          </p>
          <Causes lines={readCauses(job.payload.error_causes)} />
          {backtrace.length > 0 && (
            <pre class="document" tabindex={0} aria-label="Backtrace">{backtrace.join("\n")}</pre>
          )}
        </section>
      )}
      {job.payload !== undefined && <Attempts view={view} attempts={attemptsOf(job.payload, job.failures)} />}
      <LogTail lines={log} live={entry.place.in === "leased"} />
      <section>
        <h2>Arguments</h2>
        {job.payload === undefined
          ? <pre class="document" tabindex={0} aria-label="What is stored">{job.args}</pre>
          : <pre class="document" tabindex={0} aria-label="Arguments">{document(job.payload.args)}</pre>}
      </section>
      {job.payload !== undefined && <Fields job={job} />}
    </article>
  );
}

function stateName(entry: Entry): string {
  return entry.place.in === "queue" ? `in queue ${entry.place.queue}` : placeName(entry.place);
}

function JobActions({ view, detail: { entry, job } }: { readonly view: View; readonly detail: JobDetail }) {
  if (!view.canAct) return null;
  const actions = actionsIn(entry.place).filter((action) => action !== "move");
  return (
    <>
      {actions.map((action) => (
        <ActionButton
          view={view}
          path="/jobs/act"
          fields={{ in: placeName(entry.place), ref: entry.ref, do: action }}
          label={actionLabel(action, entry.place)}
          kind={action === "delete" || action === "cancel" ? "danger" : action === "retry" ? "primary" : ""}
        />
      ))}
      {entry.owner !== undefined && (
        <ActionButton
          view={view}
          path="/jobs/cancel"
          fields={{ jid: job.jid, process: entry.owner }}
          label="Cancel"
          kind="danger"
        />
      )}
      {entry.place.in !== "leased" && job.payload !== undefined && (
        <a class="button" href={link(view, `/jobs/${encodeURIComponent(job.jid || "-")}/edit`, { ref: entry.ref })}>
          Edit & re-enqueue
        </a>
      )}
      {actionsIn(entry.place).includes("move") && (
        <form method="post" action={link(view, "/jobs/act")} class="inline move">
          <Hidden
            view={view}
            fields={{ in: placeName(entry.place), ref: entry.ref, do: "move", back: view.here }}
          />
          <input
            name="queue_to"
            list="queue-names"
            required
            placeholder="queue"
            aria-label="Queue to move to"
            autocomplete="off"
          />
          <button type="submit">Move</button>
          <QueueNames view={view} />
        </form>
      )}
    </>
  );
}

/** Where the job is, where it was, and where it may go. */
function States({ view, detail: { entry, job, before, progress } }: {
  readonly view: View;
  readonly detail: JobDetail;
}) {
  const failed = readWireTime(job.payload?.retried_at) ?? readWireTime(job.payload?.failed_at);
  const state = entry.place.in === "leased" ? "running" : entry.place.in;
  // A retry by hand begins to count anew; the tries before it are listed all the same.
  const failures = Math.max(job.failures, job.payload ? attemptsOf(job.payload, job.failures)[0]?.number ?? 0 : 0);
  const wasRun = failures > 0 || state === "dead";
  const notes = {
    created: { at: job.createdAt },
    ...((state === "running" || state === "queue" || wasRun) && { queue: { at: job.enqueuedAt } }),
    ...(wasRun && { running: { note: failures > 0 ? `failed ${times(failures)}` : undefined, at: failed } }),
    ...(failures > 1 && { retry: { note: times(failures - 1) } }),
    [state]: {
      at: entry.at ?? (state === "queue" ? job.enqueuedAt : undefined),
      note: noteOf(entry, before, progress),
    },
  };
  return <StateDiagram view={view} now={state} notes={notes} />;
}

function times(count: number): string {
  return count === 1 ? "once" : `${number(count)} times`;
}

function noteOf(entry: Entry, before: number | undefined, progress: string | undefined): string | undefined {
  if (before === 0) return "next";
  if (before !== undefined) return before < FAR ? `${number(before)} before it` : `more than ${number(FAR)} before it`;
  return progress ?? entry.owner;
}

const MAX_FIELD_NAME_CHARS = 40;
const TIMES = new Set(["created_at", "enqueued_at", "failed_at", "retried_at", "discarded_at"]);
/** They stand elsewhere on the page. */
const ELSEWHERE = new Set(["args", "error_class", "error_message", "error_causes", "error_backtrace", "errors"]);

function Fields({ job }: { readonly job: JobView }) {
  const rows = Object.entries(job.payload ?? {}).filter(([name]) => !ELSEWHERE.has(name)).slice(0, 200);
  return (
    <section>
      <h2>Payload</h2>
      <table class="fields">
        <tbody>
          {rows.map(([name, value]) => (
            <tr>
              <th scope="row">{cut(name, MAX_FIELD_NAME_CHARS)}</th>
              <td>
                <FieldValue name={name} value={value} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function FieldValue({ name, value }: { readonly name: string; readonly value: unknown }) {
  const iso = TIMES.has(name) ? isoTime(readWireTime(value)) : undefined;
  if (iso !== undefined) {
    return <time datetime={iso} data-exact>{iso.replace("T", " ").replace("Z", " UTC")}</time>;
  }
  return <code>{typeof value === "string" ? value : document(value)}</code>;
}

/** What the form is filled with. */
export interface PushForm {
  readonly class: string;
  readonly args: string;
  readonly queue: string;
  readonly when: string;
  readonly retry: string;
}

/** The form for a new job, or for one pushed again. */
export function PushPage({ view, form, classes, original, problem }: {
  readonly view: View;
  readonly form: PushForm;
  readonly classes: readonly string[];
  /** The job that it replaces. */
  readonly original?: { readonly jid: string; readonly ref: string } | undefined;
  readonly problem?: string | undefined;
}) {
  const path = original ? `/jobs/${encodeURIComponent(original.jid || "-")}/edit` : "/push";
  return (
    <Layout view={view} title={original ? "Edit & re-enqueue" : "New job"}>
      <h1>{original ? "Edit & re-enqueue" : "New job"}</h1>
      {original && (
        <p class="note">
          It is pushed as a new job with an id of its own, and <span class="mono">{original.jid}</span>{" "}
          is deleted. What is masked stays as it was.
        </p>
      )}
      {problem !== undefined && <p class="flash bad" role="alert">{problem}</p>}
      <form method="post" action={link(view, path)} class="sheet">
        <Hidden view={view} fields={{ ref: original?.ref }} />
        <label>
          Class
          <input name="class" value={form.class} required list="class-names" autocomplete="off" spellcheck={false} />
        </label>
        <datalist id="class-names">{classes.map((name) => <option value={name}></option>)}</datalist>
        <label>
          Arguments <span class="note">a JSON array</span>
          <textarea name="args" rows={8} spellcheck={false} class="mono">{form.args}</textarea>
        </label>
        <label>
          Queue
          <input name="queue" value={form.queue} list="queue-names" autocomplete="off" spellcheck={false} />
        </label>
        <QueueNames view={view} />
        {!original && (
          <>
            <label>
              When <span class="note">now, or in 90, 30s, 5m, 2h, or at 2027-01-31T08:00Z</span>
              <input name="when" value={form.when} placeholder="now" autocomplete="off" />
            </label>
            <label>
              Retries <span class="note">how often, true or false</span>
              <input name="retry" value={form.retry} placeholder="true" autocomplete="off" />
            </label>
          </>
        )}
        <div class="buttons">
          <button type="submit" class="primary">Push</button>
        </div>
      </form>
    </Layout>
  );
}
