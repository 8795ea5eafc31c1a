/**
 * Actions on jobs: retry, kill, cancel, delete, move; on one, on several, or on all of a place that match a filter.
 *
 * @module
 */
import { parsePayload } from "../../job/job.ts";
import type { Store } from "../../store/admin/store.ts";
import type { Edit, Place } from "../../store/port/entries.ts";
import { queuePlaces } from "../../store/ops/queue_places.ts";
import { cancelEntries } from "../../store/ops/cancel.ts";
import { readSize } from "../../store/ops/job_sets.ts";
import { fewOf, MAX_NAMES } from "../../text/format.ts";
import { isEmptyFilter } from "../query/filter.ts";
import { invalid, InvalidInput, list, object, optional } from "../shapes/shape.ts";
import { boolean, choice, integer, text } from "../shapes/values.ts";
import { action, type AnyAction, type RefusalKind, Refused, type RunSteps, type Tools } from "./action.ts";
import { changedShape, queueName, ruled, targetQueue } from "./inputs.ts";
import { editJids, EDITS, failureShape, JOB_ACTIONS, type JobAction, STATES_OF } from "./job_ids.ts";
import { readIn, stateOfPlace } from "./places.ts";
import { checkEntries, checkQueueScope } from "./scope.ts";
import { type All, allShape, checkCriteria, describeAll, select, type Selected, windowsOf } from "./selection.ts";

const MAX_REFS = 10_000;
const CANCEL_BATCH = 500;

const takesMany = ruled(
  object("", {
    action: choice(JOB_ACTIONS, ""),
    queue: optional(targetQueue("the target of move")),
    refs: optional(list("jobs by ref", text(""))),
    jids: optional(list("jobs by jid", text(""))),
    all: optional(allShape),
  }),
  ({ action, queue, refs, jids, all }) => {
    if ([refs, jids, all].filter((one) => one !== undefined).length !== 1) {
      throw new InvalidInput('No jobs selected: expected "refs", "jids", or "all" with "in"');
    }
    if (action === "move" && queue === undefined) {
      throw new InvalidInput('Missing field "queue": expected the target', "queue");
    }
    for (const [name, { length }] of Object.entries({ refs: refs ?? [], jids: jids ?? [] })) {
      if (length > MAX_REFS) throw new InvalidInput(`Too many jobs: ${length}; expected at most ${MAX_REFS}`, name);
    }
    if (all === undefined) return;
    const place = readIn(all.in)!;
    if (!STATES_OF[action].includes(place.in === "queued" ? "queued" : stateOfPlace(place))) {
      throw new InvalidInput(`Action "${action}" isn't available for jobs in ${all.in}`, "all.in");
    }
    const at = place.in === "queue" ? place.queue : place.in === "queued" ? all.queue : undefined;
    if (action === "move" && at === queue) throw invalid(queue, "another queue than that of the jobs", "queue");
    checkCriteria(all);
  },
);

/** Acts on several jobs. */
export const editJobs = action({
  name: "edit",
  about: "Acts on many jobs: those named by ref or by jid, or all in a place that match the filters",
  path: "/actions",
  takes: takesMany,
  gives: object("", {
    ...changedShape.fields,
    aborted: optional(integer("with jids: running ones, whose signal aborts")),
    failures: optional(list("with jids: those that weren't changed", failureShape)),
  }),
  label: ({ action, all }) => all && `${action} all ${Object.keys(all).length > 1 ? "matching " : ""}in ${all.in}`,
  deed: ({ action, queue, all, jids }, out) => ({
    action,
    ...(all && { target: `all ${describeAll(all)}` }),
    ...(jids && { target: fewOf(jids) }),
    ...(action === "move" && { details: `to queue ${queue}` }),
    ...(out && { count: out.changed }),
  }),
  deletes: ({ action }) => isDeletion(action),
  within: () => "jobs",
  run: async (tools, { action, queue, refs, jids, all }, runSteps, note) => {
    const to = action === "move" ? queue : undefined;
    if (to !== undefined) checkQueueScope(tools.scope, to, "queue");
    if (jids !== undefined) return await editJids(tools, { action, jids, to });
    if (refs !== undefined) {
      note({ target: await namesOf(tools, refs) });
      return { changed: await editRefs(tools, { action, refs, to }) };
    }
    return { changed: await editAll(tools, { action, all: all!, to }, runSteps) };
  },
});

/** Cancelling removes a job, too. */
function isDeletion(action: JobAction): boolean {
  return action === "delete" || action === "cancel";
}

async function editRefs(
  { store, clock, scope }: Tools,
  { action, refs, to }: {
    readonly action: JobAction;
    readonly refs: readonly string[];
    readonly to: string | undefined;
  },
): Promise<number> {
  if (refs.length === 0) return 0;
  for (let from = 0; scope?.queues !== undefined && from < refs.length; from += CANCEL_BATCH) {
    const entries = await store.admin.get(refs.slice(from, from + CANCEL_BATCH));
    checkEntries(scope, entries.filter((entry) => entry !== undefined));
  }
  if (action !== "cancel") return await store.jobs.edit(refs, EDITS[action], to);
  let changed = 0;
  for (let from = 0; from < refs.length; from += CANCEL_BATCH) {
    const entries = await store.admin.get(refs.slice(from, from + CANCEL_BATCH));
    changed += await cancelEntries(store, entries.filter((entry) => entry !== undefined), clock.now());
  }
  return changed;
}

async function editAll(
  tools: Tools,
  { action, all, to }: { readonly action: JobAction; readonly all: All; readonly to: string | undefined },
  runSteps: RunSteps,
): Promise<number> {
  const place = readIn(all.in)!;
  if (tools.scope?.queues !== undefined) {
    const queue = place.in === "queue" ? place.queue : all.queue;
    if (queue === undefined) {
      const expected = tools.scope.queues.join(", ");
      throw new Refused(
        "forbidden",
        `Your role acts on all jobs of a queue alone; expected the filter queue: ${expected}`,
      );
    }
    checkQueueScope(tools.scope, queue, "all.queue");
  }
  const selected = await select(tools.store, all, tools.asOf ?? tools.clock.now());
  return await runSteps({ total: selected.total, steps: stepsOf(tools, action, selected, to) });
}

async function* stepsOf(
  tools: Tools,
  action: JobAction,
  selected: Selected,
  to: string | undefined,
): AsyncGenerator<number> {
  const { store, clock } = tools;
  if (action !== "cancel" && to === undefined && isEmptyFilter(selected.filter)) {
    // The store edits whole places without sending the jobs to and fro.
    let left = selected.total;
    for (const place of selected.places) {
      for await (const changed of editSteps(store, { place, edit: EDITS[action], total: left })) {
        left -= changed;
        yield changed;
      }
    }
    return;
  }
  for await (const { rows } of windowsOf(tools, selected)) {
    if (rows.length === 0) yield 0;
    else if (action === "cancel") yield await cancelEntries(store, rows, clock.now());
    else yield await store.jobs.edit(rows.map(({ ref }) => ref), EDITS[action], to);
  }
}

/** Returns the target for the audit log: the jids of the first few jobs. */
async function namesOf({ store }: Tools, refs: readonly string[]): Promise<string> {
  const entries = await store.admin.get(refs.slice(0, MAX_NAMES));
  const names = entries.flatMap((entry) => entry ? parsePayload(entry.payload)?.jid || "(unreadable)" : []);
  return fewOf(names, refs.length);
}

const REF = { ref: optional(text("the ref of the entry, which spares a search")) };

const REFUSALS: Readonly<Record<string, RefusalKind>> = { moved: "conflict", forbidden: "forbidden" };

function onOne(name: JobAction, about: string) {
  return action({
    name,
    about,
    path: `/jobs/{jid}/${name}`,
    takes: object("", {
      jid: text(""),
      ...REF,
      ...(name === "move" ? { queue: targetQueue("the target") as ReturnType<typeof optional<string>> } : {}),
    } as { jid: ReturnType<typeof text>; ref: typeof REF.ref; queue: ReturnType<typeof optional<string>> }),
    gives: object("", {
      asked: optional(integer("of a running job: workers that received the request to abort it")),
      changed: optional(integer("jobs")),
    }),
    deed: ({ jid, queue }, out) => ({
      target: jid,
      ...(queue !== undefined && { details: `to queue ${queue}` }),
      ...(out && { count: (out.changed ?? 0) + (out.asked ?? 0) }),
    }),
    deletes: () => isDeletion(name),
    within: () => "jobs",
    run: async (tools, { jid, ref, queue }) => {
      if (queue !== undefined) checkQueueScope(tools.scope, queue, "queue");
      const { changed, aborted = 0, failures } = await editJids(tools, { action: name, jids: [jid], ref, to: queue });
      const [failure] = failures ?? [];
      if (failure !== undefined) {
        throw new Refused(REFUSALS[failure.code] ?? "missing", failure.message);
      }
      return {
        ...(aborted > 0 && { asked: aborted }),
        ...((changed > aborted || aborted === 0) && { changed: changed - aborted }),
      };
    },
  });
}

/** The actions on one job. */
export const oneJob = {
  retry: onOne("retry", "Retries a job now: moves it to its queue"),
  kill: onOne("kill", "Moves a job to dead"),
  cancel: onOne(
    "cancel",
    "Cancels a job: aborts a running one, removes a waiting one; its result says cancelled, and it isn't retried",
  ),
  delete: onOne("delete", "Deletes a job permanently"),
  move: onOne("move", "Moves a job to another queue"),
} as const;

/** Deletes the jobs of a queue, or of a group of it. */
export const clearQueue = action({
  name: "clear",
  about:
    "Deletes all jobs of a queue permanently, and removes it from the list if it isn't paused and no worker processes it",
  path: "/queues/{name}/clear",
  label: ({ name }) => `clear queue:${name}`,
  takes: object("", { name: queueName(""), group: optional(text("only the jobs of this group")) }),
  gives: object("", { ...changedShape.fields, removed: optional(boolean("whether the queue was removed")) }),
  deletes: () => true,
  within: ({ name }) => [name],
  deed: ({ name, group }) => ({ target: `queue:${name}${group === undefined ? "" : ` group ${group}`}` }),
  run: async ({ store }, { name: queue, group }, runSteps) => {
    const place: Place = { in: "queue", queue, ...(group !== undefined && { group }) };
    const total = await readSize(store.admin, place);
    const changed = await runSteps({ total, steps: editSteps(store, { place, edit: "delete", total }) });
    if (group !== undefined) return { changed };
    const isProcessed = (await store.workers.list()).some(({ alive, queues }) => alive && queues.includes(queue));
    return { changed, removed: !isProcessed && await store.admin.configure(queue, { forget: true }) };
  },
});

/** The actions of this file. */
export const jobActions: readonly AnyAction[] = [...Object.values(oneJob), editJobs, clearQueue];

/** Maximum number of jobs that one step of the store changes. */
const EDIT_LIMIT = 1_000;

/**
 * Edits the jobs of a place in steps, earliest first; those of a queue group by group. At most as many jobs as at the start. Jobs that arrive meanwhile stay, and
 * jobs that fail again and return to the place don't make the change endless.
 */
async function* editSteps(
  store: Store,
  { place, edit, total }: { readonly place: Place; readonly edit: Edit; readonly total: number },
): AsyncGenerator<number> {
  let left = total;
  const isWholeQueue = place.in === "queue" && place.group === undefined;
  for (const one of isWholeQueue ? await queuePlaces(store.admin, place.queue) : [place]) {
    while (left > 0) {
      const changed = await store.jobs.edit({ in: one, limit: Math.min(EDIT_LIMIT, left) }, edit);
      if (changed === 0) break;
      left -= changed;
      yield changed;
    }
  }
}
