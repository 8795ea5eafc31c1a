/**
 * `/cron` and `/cron/NAME`: cron entries, their next runs, their history, and the actions on them.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import type { CrontabEntry } from "../../client/crontab_entry.ts";
import { tagsOf as entryTags } from "../../cron/definition.ts";
import type { CronRecord } from "../../cron/occurrence.ts";
import { describeSchedule, type ScheduleSpec } from "../../cron/schedule_spec.ts";
import { formatDuration } from "../../job/duration.ts";
import { stringifyLossless } from "../../job/json.ts";
import { number } from "../../text/format.ts";
import { CRON_COLUMNS, ENDED_RUN_COLUMNS, inZone, NO_WORKER, noneSchedules, zoneOf } from "../../text/cron.ts";
import type { AnyAction } from "../../operator/actions/action.ts";
import { pauseCron, removeCron, resumeCron, runCron } from "../../operator/actions/cron.ts";
import { actFor } from "../act.ts";
import { CRON_FILTERS, type CronFilter } from "../../operator/query/cron.ts";
import { HttpError } from "../http/body.ts";
import { formOf } from "../http/forms.ts";
import { type CronList, readCronPage } from "../read/cron.ts";
import type { Services, WebEnv } from "../services.ts";
import { ActionButton, Empty, link, mayAct, None, Time, type View } from "./view.tsx";
import {
  type EndedRun,
  enqueuedJid,
  type JobEnds,
  readEnds,
  runFields,
  withEnds,
} from "../../operator/query/cron_ends.ts";
import { back, html, viewOf } from "./responses.tsx";
import { askFirst } from "./confirm.tsx";
import { Layout } from "./layout.tsx";
import { Badge, List } from "./list.tsx";
import { OutcomeNote, RunTimes } from "./run_times.tsx";

const NEXT_TIMES = 5;
const HISTORY = 50;

/** Adds the pages and their forms. */
export function cronRoutes(app: Hono<WebEnv>, services: Services): void {
  app.get("/cron", async (c) => {
    const [view, list] = await Promise.all([viewOf(services, c), readCronPage(services, c)]);
    const ends = await readEnds(services.store, list.entries.map(({ last }) => last));
    return html(services, c, <CronPage view={view} list={list} ends={ends} />);
  });
  app.get("/cron/:name", async (c) => {
    const name = c.req.param("name");
    const [view, entry] = await Promise.all([viewOf(services, c), services.crontab.get(name)]);
    if (entry === undefined) throw new HttpError(404, `Cron entry "${name.slice(0, 80)}" not found`);
    const [workers, times, history] = await Promise.all([
      services.store.workers.list(),
      entry.definition === undefined ? [] : services.crontab.next(name, NEXT_TIMES),
      services.crontab.history(name, HISTORY),
    ]);
    const shown = entry.definition && services.mask.value(entry.definition);
    const records = await withEnds(services.store, history, entry, services.mask);
    return html(
      services,
      c,
      <CronEntryPage {...{ view, entry, shown, times, records, isIdle: noneSchedules(workers) }} />,
    );
  });
  for (const [verb, action] of Object.entries(ACTIONS)) {
    app.post(`/cron/:name/${verb}`, (c) => cronForm(services, c, c.req.param("name"), action));
  }
}

/** The actions of buttons, and the ends of their messages. */
const ACTIONS = {
  run: [runCron, "is enqueued"],
  pause: [pauseCron, "is paused"],
  resume: [resumeCron, "is resumed"],
  remove: [removeCron, "is removed"],
} as const satisfies Readonly<Record<string, readonly [AnyAction, string]>>;

async function cronForm(
  services: Services,
  c: Context<WebEnv>,
  name: string,
  [action, done]: readonly [AnyAction, string],
): Promise<Response> {
  const question = action === removeCron && await askFirst(services, c, {
    question: `Remove cron entry ${name}?`,
    explanation: "Its schedule, settings and list of runs are deleted. Jobs that it has enqueued stay.",
    label: "Remove the entry",
  });
  if (question) return question;
  const once = (await formOf(c, services)).get("once");
  const { jid } = await actFor(services, c.get("visitor"), action, {
    name,
    ...(action === runCron && once && { once }),
  });
  const text = `Cron entry ${name} ${done}${jid === undefined ? "" : ` as ${jid}`}.`;
  return await back(services, c, { kind: "ok", text }, action === removeCron ? "/cron" : undefined);
}

interface CronPageProps {
  readonly view: View;
  readonly list: CronList;
  readonly ends: JobEnds;
}

function CronPage({ view, list, ends }: CronPageProps) {
  const { entries, filter, cursor, next } = list;
  const isFiltered = filter.prefix !== undefined || filter.tag !== undefined;
  const isWhole = !isFiltered && cursor === undefined && next === undefined;
  return (
    <Layout view={view} title="Cron">
      <div class="heading">
        <h1>Cron</h1>
        <span class="note">
          {isWhole
            ? `${number(entries.length)} ${entries.length === 1 ? "entry" : "entries"}`
            : filter.sort === "next"
            ? "the next run first"
            : "by name"}
        </span>
        <span class="grow"></span>
        {mayAct(view) && <a class="button" href={link(view, "/cron-new")}>New entry</a>}
      </div>
      {(isFiltered || !isWhole || entries.length > 1) && <CronFilters view={view} filter={filter} />}
      <div id="rows" data-live>
        {entries.length === 0 && !isWhole
          ? <Empty title="No such cron entries." />
          : entries.length === 0
          ? (
            <Empty title="No cron entries.">
              Add one to "cron" in the configuration, with <code>jobs cron add</code>
              {mayAct(view) && ", or as a new entry here"}.
            </Empty>
          )
          : <CronTable view={view} list={list} ends={ends} />}
      </div>
      <nav class="paging" aria-label="Pages of this list">
        <span class="grow"></span>
        {cursor !== undefined && <a href={link(view, "/cron", filter)}>← First page</a>}
        {next !== undefined && <a rel="next" href={link(view, "/cron", { ...filter, cursor: next })}>Next →</a>}
      </nav>
    </Layout>
  );
}

function CronFilters({ view, filter }: { readonly view: View; readonly filter: CronFilter }) {
  const { prefix, tag, sort = "name" } = filter;
  const isFiltered = prefix !== undefined || tag !== undefined;
  return (
    <div class="filters">
      <form action={link(view, "/cron")} aria-label="Filter" class="inline">
        {(["prefix", "tag"] as const).map((name) => (
          <input
            type="search"
            name={name}
            value={filter[name] ?? ""}
            placeholder={`${CRON_FILTERS[name].label}…`}
            aria-label={CRON_FILTERS[name].label}
            autocomplete="off"
          />
        ))}
        <button type="submit">Find</button>
        {isFiltered && <a class="button" href={link(view, "/cron")}>Clear</a>}
      </form>
      {!isFiltered && (
        <nav class="choice" aria-label={CRON_FILTERS.sort.label}>
          {(["name", "next"] as const).map((one) => (
            <a
              href={link(view, "/cron", one === "name" ? {} : { sort: one })}
              aria-current={sort === one ? "true" : undefined}
            >
              {one === "name" ? "By name" : "By next run"}
            </a>
          ))}
        </nav>
      )}
    </div>
  );
}

function CronTable({ view, list: { entries }, ends }: CronPageProps) {
  return (
    <List
      view={view}
      columns={CRON_COLUMNS}
      rows={entries}
      looks={{
        name: (entry) => (
          <>
            <a class="class" href={link(view, `/cron/${encodeURIComponent(entry.name)}`)}>{entry.name}</a>
            <State entry={entry} />
            {tagsOf(entry).map((tag) => <a class="tag" href={link(view, "/cron", { tag })}>{tag}</a>)}
          </>
        ),
        schedule: {},
        "next run": {
          class: "when",
          show: ({ next, isIdle }) =>
            isIdle && next !== undefined
              ? <span class="badge warn">{NO_WORKER}</span>
              : <Time at={next} now={view.now} />,
        },
        "last run": {
          class: "when",
          show: ({ last, live }) => (
            <>
              <Last view={view} record={last} ends={ends} />
              {live !== undefined && (
                <a class="badge running" href={link(view, `/jobs/${encodeURIComponent(live)}`)}>not ended</a>
              )}
            </>
          ),
        },
        // Without arguments, which may hold secrets.
        job: { class: "name", show: ({ definition }) => definition?.class },
        memo: false,
      }}
      acts={(entry) => <CronActions view={view} entry={entry} />}
    />
  );
}

function tagsOf({ definition }: CrontabEntry): readonly string[] {
  return definition === undefined ? [] : entryTags(definition);
}

function State({ entry }: { readonly entry: CrontabEntry }) {
  if (entry.definition === undefined) return <span class="badge bad">invalid</span>;
  if (entry.state?.paused) return <span class="badge warn">paused</span>;
  return entry.isLoaded ? null : <span class="badge warn">not defined by any running worker</span>;
}

/** The latest run: how its job ended, or else whether it was enqueued. */
function Last({ view, record, ends }: {
  readonly view: View;
  readonly record: CronRecord | undefined;
  readonly ends: JobEnds;
}) {
  if (record === undefined) return <span class="note">no runs yet</span>;
  const jid = enqueuedJid(record);
  const end = jid === undefined ? undefined : ends.get(jid);
  return (
    <span>
      {end === undefined ? <Badge state={record.outcome} /> : (
        <a href={link(view, `/jobs/${encodeURIComponent(jid!)}`)}>
          <Badge state={end.state} />
        </a>
      )} <Time at={record.decidedAt} now={view.now} />
    </span>
  );
}

function CronActions({ view, entry }: { readonly view: View; readonly entry: CrontabEntry }) {
  const path = `/cron/${encodeURIComponent(entry.name)}`;
  const pausing = entry.state?.paused ? "resume" : "pause";
  return (
    <>
      <ActionButton
        view={view}
        path={`${path}/run`}
        fields={runFields(entry.last)}
        label="Run now"
        title={`Run now: ${entry.name}`}
      />
      <ActionButton
        view={view}
        path={`${path}/${pausing}`}
        label=""
        kind={pausing === "pause" ? "on" : "off"}
        title={`${pausing === "pause" ? "Pause" : "Resume"} ${entry.name}`}
      />
    </>
  );
}

/** Fields that the heading of the page shows. */
const IN_HEADING = new Set(["name", "schedule"]);

const LABELS: Readonly<Record<string, string>> = {
  class: "Class",
  args: "Arguments",
  options: "Options",
  memo: "Note",
  overlap: "Overlap",
  catchUp: "Catch-up",
  everyProcess: "On every worker",
  source: "Source",
};

/** A field of an entry's definition, which any program may have written. */
function settingOf(name: string, value: unknown) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (name === "source") return value === "runtime" ? "added at run time" : "configuration";
  if (name === "catchUp") {
    const { policy, windowMs } = value as { readonly policy?: unknown; readonly windowMs?: unknown };
    return typeof windowMs === "number" ? `${policy}, within ${formatDuration(windowMs)}` : `${policy}`;
  }
  return <code>{typeof value === "string" ? value : stringifyLossless(value)}</code>;
}

function CronEntryPage({ view, entry, shown, times, records, isIdle }: {
  readonly view: View;
  /** No worker enqueues runs. */
  readonly isIdle: boolean;
  readonly entry: CrontabEntry;
  /** The definition without secrets. */
  readonly shown: unknown;
  readonly times: readonly number[];
  readonly records: readonly EndedRun[];
}) {
  const { name, definition } = entry;
  const path = `/cron/${encodeURIComponent(name)}`;
  return (
    <Layout view={view} title={`Cron ${name}`}>
      <div class="heading">
        <a class="crumb" href={link(view, "/cron")}>Cron</a>
        <h1>{name}</h1>
        <State entry={entry} />
        <span class="note">{definition && describeSchedule(definition.schedule)}</span>
        {mayAct(view) && (
          <div class="buttons">
            <CronActions view={view} entry={entry} />
            {definition?.source === "runtime" && (
              <>
                <a class="button" href={link(view, `${path}/edit`)}>Change</a>
                <ActionButton view={view} path={`${path}/remove`} label="Remove" kind="danger" />
              </>
            )}
          </div>
        )}
      </div>
      {definition && (
        <section>
          <h2>Next runs</h2>
          {entry.state?.paused
            ? <p class="note">The entry is paused: these runs don't take place until it is resumed.</p>
            : isIdle
            ? <p class="note">No worker is running: these runs don't take place until one is.</p>
            : !entry.isLoaded && <p class="note">These runs don't take place until a worker has the entry.</p>}
          {times.length === 0 ? <Empty title="No further runs." /> : (
            <RunTimes
              view={view}
              times={times}
              text={(at) => runTimeText(at, definition.schedule)}
            />
          )}
        </section>
      )}
      <section>
        <h2>History</h2>
        {records.length === 0 ? <Empty title="No runs yet." /> : (
          <List
            view={view}
            columns={ENDED_RUN_COLUMNS}
            rows={records}
            looks={{
              scheduled: {},
              outcome: (record) => (
                <>
                  <Badge state={record.outcome} /> <OutcomeNote view={view} record={record} />
                </>
              ),
              late: {},
              "job ended": ({ jobEnded: end }) =>
                end === undefined
                  ? <None />
                  : (end === "not ended" ? <span class="badge running">{end}</span> : <Badge state={end} />),
              took: {},
              error: { class: "error", hasTitle: true, show: (_, text) => <div class="clip">{text}</div> },
              jid: {
                class: "mono nowrap",
                show: ({ jid }) => jid && <a href={link(view, `/jobs/${encodeURIComponent(jid)}`)}>{jid}</a>,
              },
            }}
          />
        )}
      </section>
      {definition && (
        <section>
          <h2>Configuration</h2>
          <table class="fields">
            <tbody>
              {Object.entries(shown as Record<string, unknown>).filter(([name]) => !IN_HEADING.has(name)).map((
                [name, value],
              ) => (
                <tr>
                  <th scope="row">{LABELS[name] ?? name}</th>
                  <td>{settingOf(name, value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Layout>
  );
}

/** A time in the zone of the entry: `2026-11-22 06:00:00 Europe/Zurich`. */
function runTimeText(at: number, schedule: ScheduleSpec): string {
  return `${inZone(at, schedule).slice(0, 19).replace("T", " ")} ${zoneOf(schedule) ?? "UTC"}`;
}
