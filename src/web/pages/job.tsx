/**
 * `/jobs/JID`: one job, its timeline, why it is not running, its last error, its arguments and its log.
 *
 * @module
 */
import { ENDED_BY_RESCUE, isEndedByRescue } from "../../text/workers.ts";
import { readCauses } from "../../job/failure.ts";
import type { StepRows } from "../read/steps.ts";
import type { ShownStream } from "../read/stream.ts";
import type { Entry } from "../../store/port/entries.ts";
import { placeName } from "../../store/ops/job_sets.ts";
import { number } from "../../text/format.ts";
import { FAR, type JobDetail } from "../read/job.ts";
import { isRemoval, type JobAction } from "../../operator/actions/job_ids.ts";
import { actionsIn } from "../read/job_sets.ts";
import { text } from "../read/job_view.ts";
import { Stack } from "./stack.tsx";
import { ActionButton, Hidden, JobId, JobLinks, link, mayAct, Sentence, TraceLink, type View } from "./view.tsx";
import { attemptsOf, Causes, LogTail, Output } from "./attempts.tsx";
import { actionLabel, isOffered, QueueNames } from "./job_table.tsx";
import { Layout } from "./layout.tsx";
import { Payload } from "./payload.tsx";
import { Steps, Waits } from "./steps.tsx";
import { attemptSteps, deathSteps, type Step, Timeline } from "./timeline.tsx";
import { Progress } from "./progress.tsx";
import { Stream } from "./stream.tsx";

/** The page. */
export function JobPage({ view, jid, details, durable, stream }: {
  readonly view: View;
  readonly jid: string;
  readonly details: readonly JobDetail[];
  /** Its durable steps. */
  readonly durable: StepRows;
  readonly stream: ShownStream | undefined;
}) {
  return (
    <Layout view={view} title={`Job ${jid}`}>
      {details.map((detail) => <Detail {...{ view, detail, durable, stream }} />)}
    </Layout>
  );
}

function Detail({ view, detail, durable, stream }: {
  readonly view: View;
  readonly detail: JobDetail;
  readonly durable: StepRows;
  readonly stream: ShownStream | undefined;
}) {
  const { entry, job, reasons, backtrace, log, output } = detail;
  return (
    <article>
      <div class="heading">
        <h1>{job.class}</h1>
        <span class={`badge ${STATES[entry.place.in]}`}>{stateName(entry)}</span>
        <JobId jid={job.jid} />
        <div class="buttons">
          <JobActions view={view} detail={detail} waits={durable.waiting.length > 0} />
          <TraceLink view={view} payload={job.payload} />
        </div>
      </div>
      <JobLinks view={view} job={{ ...job, worker: entry.worker }} />
      {entry.place.in !== "dead" && (
        <Waits view={view} jid={job.jid} waiting={durable.waiting} mayWake={mayAct(view, { queue: job.queue })} />
      )}
      {reasons.length > 0 && entry.place.in !== "dead" && (
        <section class="reasons">
          <h2>{entry.place.in === "running" ? "Why it hasn't ended" : "Why it is not running"}</h2>
          <ul>
            {reasons.map((reason) => (
              <li>
                <Sentence text={reason} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {job.payload?.error_class !== undefined && (
        <section>
          <h2>Last error</h2>
          <p class="failure">
            <b>{text(job.payload.error_class)}</b> {text(job.payload.error_message)}
          </p>
          <Causes lines={readCauses(job.payload.error_causes)} />
          <Stack lines={backtrace} />
        </section>
      )}
      <Steps
        view={{ ...view, canAct: mayAct(view, { queue: job.queue }) }}
        jid={job.jid}
        steps={durable}
      />
      <Timeline view={view} steps={stepsOf(detail)} />
      <Stream jid={job.jid} stream={stream} ended={entry.place.in === "dead"} />
      <LogTail lines={log} live={entry.place.in === "running"} />
      <Output lines={output} />
      {job.payload === undefined
        ? (
          <section>
            <h2>Payload</h2>
            <pre class="document" tabindex={0} aria-label="Stored payload">{job.args}</pre>
          </section>
        )
        : <Payload payload={job.payload} />}
    </article>
  );
}

/** The state of jobs in each place. */
const STATES = {
  queue: "queued",
  scheduled: "scheduled",
  retry: "retrying",
  dead: "dead",
  running: "running",
} as const satisfies Record<Entry["place"]["in"], string>;

function stateName({ place }: Entry): string {
  return place.in === "queue" ? `queued in ${place.queue}` : STATES[place.in];
}

function JobActions({ view, detail: { entry, job }, waits }: {
  readonly view: View;
  readonly detail: JobDetail;
  /** Whether a step waits: to run the job now makes it wait again, so that it isn't the main action. */
  readonly waits: boolean;
}) {
  if (!mayAct(view, { queue: job.queue })) return null;
  const actions = actionsIn(entry.place).filter((action) => isOffered(view, action, job.queue));
  const fields = { in: placeName(entry.place), ref: entry.ref };
  const button = (action: JobAction) => (
    <ActionButton
      view={view}
      path="/jobs/act"
      fields={{ ...fields, do: action }}
      label={actionLabel(action, entry.place)}
      kind={action === "retry" && !waits ? "primary" : isRemoval(action) ? "danger" : ""}
    />
  );
  return (
    <>
      {actions.includes("retry") && button("retry")}
      {entry.place.in !== "running" && job.payload !== undefined && mayAct(view, { queue: job.queue, deletes: true }) &&
        (
          <a class="button" href={link(view, `/jobs/${encodeURIComponent(job.jid || "-")}/edit`, { ref: entry.ref })}>
            Edit & re-enqueue
          </a>
        )}
      {actions.includes("move") && (
        <details class="popover end">
          <summary class="button">Move…</summary>
          <form method="post" action={link(view, "/jobs/act")} class="panel">
            <Hidden view={view} fields={{ ...fields, do: "move", back: view.here }} />
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
        </details>
      )}
      {actions.filter((action) => action !== "retry" && action !== "move").map(button)}
      {entry.worker !== undefined && !isEndedByRescue(entry) && (
        <ActionButton
          view={view}
          path="/jobs/cancel"
          fields={{ jid: job.jid, worker: entry.worker }}
          label="Cancel"
          kind="danger"
        />
      )}
    </>
  );
}

/** Returns the steps of the job's timeline, the earliest first, up to the current one. */
function stepsOf({ entry, job, before, held, progress }: JobDetail): Step[] {
  const { place, at } = entry;
  const failed = job.payload ? attemptsOf(job.payload, job.failures) : [];
  const attempts = [...attemptSteps(failed), ...deathSteps(job.payload, failed)];
  const pushed: Step = { title: "Pushed", at: job.createdAt };
  const now = { isNow: true, at };
  switch (place.in) {
    case "scheduled":
      return [pushed, ...attempts, { ...now, title: "Scheduled", kind: "scheduled" }];
    case "retry":
      return [pushed, ...attempts, { ...now, title: `Attempt ${job.failures + 1} is due`, kind: "retrying" }];
    case "dead":
      return [pushed, ...attempts, { ...now, title: "Moved to dead", kind: "bad", note: "no further retries" }];
    case "queue": {
      const note = before === undefined ? held : positionText(before, held);
      return [pushed, ...attempts, {
        isNow: true,
        title: `Queued in ${place.queue}`,
        at: job.enqueuedAt,
        kind: "queued",
        note,
      }];
    }
    case "running": {
      const queued: Step = { title: `Queued in ${job.queue}`, at: job.enqueuedAt, kind: "queued" };
      const running: Step = {
        ...now,
        title: isEndedByRescue(entry) ? "Cancelled" : `Attempt ${job.failures + 1} is running`,
        kind: "running",
        note: isEndedByRescue(entry) ? ENDED_BY_RESCUE : entry.worker === undefined ? undefined : `on ${entry.worker}`,
        children: progress === undefined ? undefined : <Progress text={progress} />,
      };
      return [pushed, ...attempts, queued, running];
    }
  }
}

/** `held`: why it isn't fetched even as the first one. */
function positionText(before: number, held: string | undefined): string {
  if (before === 0) return held ?? "next in line";
  const count = before < FAR ? number(before) : `more than ${number(FAR)}`;
  return `${count} before it${held === undefined ? "" : `; ${held}`}`;
}
