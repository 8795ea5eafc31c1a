/**
 * Commands to workers: quiet, resume, stop, dump.
 *
 * @module
 */
import { endedProcesses, type ProcessState } from "../../processes.ts";
import { awaitReply } from "../../store/ops/await.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { processText } from "../../text/processes.ts";
import { dumpsElsewhere, goneText, isSidekiqWorker } from "../../text/workers.ts";
import { list, object } from "../shapes/shape.ts";
import { integer, text } from "../shapes/values.ts";
import { action, type AnyAction, Refused } from "./action.ts";

const WORKER = object("", { id: text("") });
const ASKED = object("", {
  asked: integer("workers that received it"),
  workers: list("their IDs", text("")),
});
const ALL_ASKED = object("", {
  ...ASKED.fields,
  unreachable: list("why the other online workers can't follow: one line each", text("")),
});

/** @param worker its record, if the store still has one */
function missing(id: string, worker: WorkerInfo | undefined, now: number): Refused {
  const why = worker && goneText({ ...worker, alive: false }, now);
  return new Refused("missing", `Worker "${id.slice(0, 80)}" ${why ?? "is offline or unknown"}`);
}

/** Says why a worker can't follow a command, which it would find in the store as long as its heartbeat hasn't lapsed. */
function unreachable({ id, pid }: WorkerInfo, state: ProcessState): string {
  const cure = state === "ended"
    ? "and its jobs are rescued once its heartbeat has lapsed"
    : `continue it: kill -CONT ${pid}`;
  return `Worker "${id}" can't follow: its process ${processText(state)}, ${cure}`;
}

/** @throws {Refused} if the process of a worker on this machine can't follow a command */
function checkReachable(worker: WorkerInfo | undefined): void {
  const state = worker && endedProcesses([worker]).get(worker.id);
  if (state !== undefined) throw new Refused("conflict", unreachable(worker!, state));
}

/** @param about completes "Asks a worker to …" */
function asking(name: "quiet" | "resume" | "stop", about: string) {
  const one = action({
    name,
    about: `Asks a worker to ${about}`,
    path: `/workers/{id}/${name}`,
    takes: WORKER,
    gives: ASKED,
    deed: ({ id }, out) => ({ target: id, ...(out && { count: out.asked }) }),
    run: async ({ store: { workers }, clock }, { id }) => {
      const worker = (await workers.list()).find((one) => one.id === id);
      checkReachable(worker);
      if (!await workers.send(id, { verb: name })) throw missing(id, worker, clock.now());
      return { asked: 1, workers: [id] };
    },
  });
  const all = action({
    name,
    about: `Asks all online workers to ${about}`,
    path: `/workers/${name}`,
    takes: object("", {}),
    gives: ALL_ASKED,
    deed: (_, out) => ({
      target: "all workers",
      ...(out && { count: out.asked }),
      ...(out?.asked === 0 && { outcome: "no online worker" }),
    }),
    run: async ({ store }) => {
      const online = (await store.workers.list()).filter(({ alive }) => alive);
      const states = endedProcesses(online);
      const [apart, running] = [true, false].map((isApart) => online.filter(({ id }) => states.has(id) === isApart));
      const sent = await Promise.all(running!.map(({ id }) => store.workers.send(id, { verb: name })));
      const workers = running!.filter((_, i) => sent[i]).map(({ id }) => id);
      return {
        asked: workers.length,
        workers,
        unreachable: apart!.map((worker) => unreachable(worker, states.get(worker.id)!)),
      };
    },
  });
  return { one, all };
}

/** Stops the fetching of jobs. */
export const quiet = asking("quiet", "stop fetching jobs");
/** Ends the quiet of workers. */
export const resume = asking("resume", "fetch jobs again");
/** Ends workers. */
export const stop = asking("stop", "finish the running jobs and exit");

const DUMP_TIMEOUT_MS = 10_000;

function noReply(id: string, worker: WorkerInfo | undefined, now: number): string {
  const gone = worker === undefined ? "has ended meanwhile" : goneText(worker, now);
  if (gone !== undefined) return `Worker "${id}" ${gone}`;
  const blocked = worker?.blocked === undefined ? "may be blocked, or the worker has just ended" : "is blocked";
  return `Worker "${id}" doesn't reply within 10 seconds: its event loop ${blocked}`;
}

/** Returns the tasks of a worker; of a Sidekiq worker, where to find that. */
export const dump = action({
  name: "dump",
  about: "Returns what every task of a worker is doing",
  path: "/workers/{id}/dump",
  takes: WORKER,
  gives: object("", { dump: list("lines", text("")) }),
  deed: ({ id }) => ({ target: id }),
  run: async ({ store, clock }, { id }) => {
    const worker = (await store.workers.list()).find((one) => one.id === id);
    checkReachable(worker);
    const request = crypto.randomUUID();
    if (!await store.workers.send(id, { verb: "dump", id: request })) throw missing(id, worker, clock.now());
    if (worker && isSidekiqWorker(worker)) return { dump: [dumpsElsewhere(id)] };
    const timeout = new AbortController();
    const replied = new AbortController();
    void clock.sleep(DUMP_TIMEOUT_MS, replied.signal).then(() => timeout.abort());
    try {
      const dump = await awaitReply(store, request, timeout.signal);
      if (dump !== undefined) return { dump: dump.split("\n") };
    } finally {
      replied.abort();
    }
    throw new Refused(
      "unavailable",
      noReply(id, (await store.workers.list()).find((one) => one.id === id), clock.now()),
    );
  },
});

/** The actions of this file. */
export const workerActions: readonly AnyAction[] = [
  ...[quiet, resume, stop].flatMap(({ one, all }) => [one, all]),
  dump,
];
