/**
 * Actions on durable steps: signal, wake, clear, rerun.
 *
 * @module
 */
import { sendSignal } from "../../client/signal.ts";
import { lostSteps, shownStep } from "../../text/steps.ts";
import { nullable, object, optional } from "../shapes/shape.ts";
import { any, boolean, integer, span, text } from "../shapes/values.ts";
import { checkJid } from "./scope.ts";
import { action, type AnyAction, type Note, Refused, type Tools } from "./action.ts";

const JOB = { jid: text("") };
const CHANGED = object("", { changed: integer("steps") });

/** Returns the number of steps. */
function some(changed: number, jid: string, of = "such step"): number {
  if (changed > 0) return changed;
  throw new Refused("missing", `Job "${jid.slice(0, 80)}" has no ${of}`);
}

/** Sends a signal. */
export const signal = action({
  name: "signal",
  about: "Sends a signal to the job that has waited longest for this key; kept if none waits",
  path: "/signals/{key}",
  access: "signal",
  within: () => "signal",
  isFrequent: true,
  takes: object("", {
    key: text(""),
    data: optional(nullable(any("any JSON value; default true"))),
    keepFor: optional(span("how long it is kept if no job waits; default 7d")),
    keep: optional(boolean("false: it is refused if no job waits; default true")),
  }),
  gives: object("", { reached: optional(text("jid; absent if the signal is kept")) }),
  status: ({ reached }) => reached === undefined ? 202 : 200,
  deed: ({ key }, out) => ({ target: `signal:${key}`, ...(out && { details: out.reached ?? "kept" }) }),
  run: async ({ store }, { key, data = true, keepFor, keep = true }) => {
    const options = { keep, ...(keepFor !== undefined && { keepFor: keepFor / 1_000 }) };
    const { reached } = await sendSignal(store.steps, key, data, options);
    if (reached === undefined && !keep) {
      throw new Refused("missing", `No job waits for signal "${key.slice(0, 80)}": nothing was sent`, { field: "key" });
    }
    return reached === undefined ? {} : { reached };
  },
});

/** Larger values aren't read for the audit log. */
const MAX_VALUE_CHARS = 16 * 1024;

/** Notes in the audit log which results are lost: an operator may need the ID of a payment. */
async function noteLost(
  { store, mask }: Tools,
  { jid, names }: { readonly jid: string; readonly names: (all: readonly string[]) => readonly string[] },
  note: Note,
): Promise<readonly string[]> {
  const all = (await store.steps.read(jid)).map((step) => shownStep(step, mask, MAX_VALUE_CHARS));
  const lost = names(all.map(({ name }) => name));
  const steps = all.filter(({ name }) => lost.includes(name));
  if (steps.length > 0) note({ details: lostSteps(steps) });
  return lost;
}

/** Ends the sleeps and waits of a job. */
export const wakeSteps = action({
  name: "steps wake",
  about: "Ends the sleeps and waits of a job, as if their time had passed",
  path: "/jobs/{jid}/steps/wake",
  takes: object("", JOB),
  gives: CHANGED,
  within: () => "jobs",
  deed: ({ jid }) => ({ target: `job:${jid}` }),
  run: async (tools, { jid }) => {
    await checkJid(tools, jid);
    return { changed: some(await tools.store.steps.clear(jid, "waits"), jid, "sleep or wait") };
  },
});

/** Deletes steps of a job, so that they run again. */
export const clearSteps = action({
  name: "steps clear",
  about: "Deletes a step of a job, or all: it runs again in the next attempt",
  path: "/jobs/{jid}/steps/clear",
  takes: object("", { ...JOB, name: optional(text("default: all")) }),
  gives: CHANGED,
  deletes: () => true,
  within: () => "jobs",
  deed: ({ jid }) => ({ target: `job:${jid}` }),
  run: async (tools, { jid, name }, _steps, note) => {
    await checkJid(tools, jid);
    const { store } = tools;
    note({ details: name ?? "all" });
    await noteLost(tools, { jid, names: (all) => name === undefined ? all : [name] }, note);
    const changed = await store.steps.clear(jid, name === undefined ? undefined : [name]);
    return { changed: some(changed, jid, name === undefined ? "steps" : `step "${name}"`) };
  },
});

/** The effect on a job. */
interface Rerun {
  /** The number of deleted steps; 0 if the job has no such step, and nothing was changed. */
  readonly cleared: number;
  /** Whether the job was moved to its queue. False if it is queued already, or running: then its next attempt repeats the steps. */
  readonly queued: boolean;
}

/** Deletes a step and all that began after it, and moves a job that sleeps, retries or is dead to its queue. If the process dies in between, the job stays where it was, without these steps. */
async function rerunFrom(tools: Tools, jid: string, name: string, note: Note): Promise<Rerun> {
  const { jobs, steps } = tools.store;
  const from = (all: readonly string[]) => all.includes(name) ? all.slice(all.indexOf(name)) : [];
  const cleared = await steps.clear(jid, await noteLost(tools, { jid, names: from }, note));
  if (cleared === 0) return { cleared, queued: false };
  const waiting = (await jobs.find([jid])).filter(({ place }) => place.in !== "queue" && place.in !== "running");
  const queued = waiting.length === 0 ? 0 : await jobs.edit(waiting.map(({ ref }) => ref), "requeue");
  return { cleared, queued: queued > 0 };
}

/** Runs a job again from one of its steps. */
export const rerunSteps = action({
  name: "steps rerun",
  about: "Deletes a step and all later ones, and moves a job that sleeps, retries or is dead to its queue",
  path: "/jobs/{jid}/steps/rerun",
  takes: object("", { ...JOB, name: text("the step") }),
  gives: object("", { changed: integer("steps"), queued: boolean("whether the job was moved to its queue") }),
  deletes: () => true,
  within: () => "jobs",
  deed: ({ jid }) => ({ target: `job:${jid}` }),
  run: async (tools, { jid, name }, _steps, note) => {
    await checkJid(tools, jid);
    note({ details: name });
    const { cleared, queued } = await rerunFrom(tools, jid, name, note);
    return { changed: some(cleared, jid, `step "${name}"`), queued };
  },
});

/** The actions of this file. */
export const stepActions: readonly AnyAction[] = [clearSteps, rerunSteps, wakeSteps, signal];
