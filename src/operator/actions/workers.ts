/**
 * Commands to workers: quiet, resume, stop, dump.
 *
 * @module
 */
import { awaitReply } from "../../store/ops/await.ts";
import { dumpsElsewhere, isSidekiqWorker } from "../../text/workers.ts";
import { list, object } from "../shapes/shape.ts";
import { integer, text } from "../shapes/values.ts";
import { action, type AnyAction, Refused } from "./action.ts";

const WORKER = object("", { id: text("") });
const ASKED = object("", {
  asked: integer("workers that received it"),
  workers: list("their IDs", text("")),
});

function missing(id: string): Refused {
  return new Refused("missing", `Worker "${id.slice(0, 80)}" is offline or unknown`);
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
    run: async ({ store }, { id }) => {
      if (!await store.workers.send(id, { verb: name })) throw missing(id);
      return { asked: 1, workers: [id] };
    },
  });
  const all = action({
    name,
    about: `Asks all online workers to ${about}`,
    path: `/workers/${name}`,
    takes: object("", {}),
    gives: ASKED,
    deed: (_, out) => ({
      target: "all workers",
      ...(out && { count: out.asked }),
      ...(out?.asked === 0 && { outcome: "no online worker" }),
    }),
    run: async ({ store }) => {
      const online = (await store.workers.list()).filter(({ alive }) => alive).map(({ id }) => id);
      const sent = await Promise.all(online.map((id) => store.workers.send(id, { verb: name })));
      const workers = online.filter((_, i) => sent[i]);
      return { asked: workers.length, workers };
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

/** Returns the tasks of a worker; of a Sidekiq worker, where to find that. */
export const dump = action({
  name: "dump",
  about: "Returns what every task of a worker is doing",
  path: "/workers/{id}/dump",
  takes: WORKER,
  gives: object("", { dump: list("lines", text("")) }),
  deed: ({ id }) => ({ target: id }),
  run: async ({ store, clock }, { id }) => {
    const request = crypto.randomUUID();
    if (!await store.workers.send(id, { verb: "dump", id: request })) throw missing(id);
    const worker = (await store.workers.list()).find((one) => one.id === id);
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
    throw new Refused("unavailable", `Worker "${id}" doesn't reply within 10 seconds: its event loop is blocked`);
  },
});

/** The actions of this file. */
export const workerActions: readonly AnyAction[] = [
  ...[quiet, resume, stop].flatMap(({ one, all }) => [one, all]),
  dump,
];
