/**
 * Disturbances of processes, the same on every store.
 *
 * @module
 */
import type { Place } from "../../src/store/port/entries.ts";
import { QUEUES } from "./kinds.ts";
import { until } from "../support/eventually.ts";
import type { Disturbance, Scene } from "./disturbance.ts";
import { insist } from "./insist.ts";
import { childrenOf, signal } from "./processes.ts";
import { pause } from "./uptime.ts";

/** On a busy machine, or while the store is down, a new process that does not start ends the replacing. */
const REPLACED_WITHIN_MS = 20_000;

/** A gateway listens to signals after this time, on a busy machine. */
const LISTENS_MS = 10_000;

/** @param heartbeatTimeoutMs a worker without a heartbeat for this long is offline */
export function processDisturbances(heartbeatTimeoutMs: number): Disturbance[] {
  const pastTimeout = [heartbeatTimeoutMs + 1_000, heartbeatTimeoutMs + 4_000] as const;
  return [
    {
      name: "kill a worker",
      weight: 4,
      hits: "worker",
      forMs: [0, 3_000],
      run: ({ target, forMs }) => target.program.kill(forMs),
    },
    { name: "kill a child process", weight: 2, hits: "worker", forMs: [0, 0], run: killChild },
    {
      name: "stop a worker",
      weight: 2,
      hits: "worker",
      forMs: [0, 2_000],
      run: async (scene) => {
        if (await listens(scene)) await scene.target.program.stop(scene.forMs);
      },
    },
    { name: "reload a worker", weight: 1, hits: "worker", forMs: [0, 0], run: reload },
    { name: "freeze past the timeout", weight: 3, hits: "worker", forMs: pastTimeout, run: freeze },
    { name: "freeze for a moment", weight: 1, hits: "worker", forMs: [200, heartbeatTimeoutMs / 3], run: freeze },
    {
      name: "kill a gateway",
      weight: 3,
      hits: "gateway",
      forMs: [0, 3_000],
      run: ({ target, forMs }) => target.program.kill(forMs),
    },
    {
      name: "stop a gateway",
      weight: 2,
      hits: "gateway",
      forMs: [0, 2_000],
      // Before it listens to signals, TERM just ends the process.
      run: async ({ target: { program }, forMs }) => program.ranMs > LISTENS_MS ? await program.stop(forMs) : undefined,
    },
    { name: "freeze a gateway past the timeout", weight: 2, hits: "gateway", forMs: pastTimeout, run: freeze },
    {
      name: "freeze a gateway for a moment",
      weight: 1,
      hits: "gateway",
      forMs: [200, heartbeatTimeoutMs / 3],
      run: freeze,
    },
    { name: "quiet a worker", weight: 1, hits: "worker", forMs: [500, 4_000], run: quiet },
    { name: "poison", weight: 0.5, hits: "worker", forMs: [0, 0], run: ({ push }) => push("Poison") },
    {
      name: "kill a pusher",
      weight: 1,
      hits: "pusher",
      forMs: [0, 1_000],
      run: ({ target, forMs }) => target.program.kill(forMs),
    },
    { name: "cancel a job", weight: 1, hits: "queue", forMs: [0, 0], run: cancelOne },
    { name: "pause a queue", weight: 1, hits: "queue", forMs: [500, 3_000], run: pauseQueue },
  ];
}

function killChild({ target, random, incidents }: Scene): Promise<void> {
  const children = childrenOf(target.program.pid);
  const child = children[random.between(0, children.length - 1)];
  if (child !== undefined) {
    incidents.gone("killed", child, target.program.pid);
    signal(child, "SIGKILL");
  }
  return Promise.resolve();
}

/** Freezes the process that has the heartbeat: of several, one. */
async function freeze({ target, random, incidents, forMs }: Scene): Promise<void> {
  const { pid } = target.program;
  const children = target.kind === "several" ? childrenOf(pid) : [];
  const frozen = children[random.between(0, children.length - 1)] ?? pid;
  await incidents.over("frozen", "away", frozen, async () => {
    signal(frozen, "SIGSTOP");
    await pause(forMs);
  });
  signal(frozen, "SIGCONT");
}

/** HUP: of several processes each is stopped, and replaced, one after the other. */
async function reload(scene: Scene): Promise<void> {
  if (scene.target.kind === "remote" || !await listens(scene)) return;
  const { target, incidents } = scene;
  const { pid } = target.program;
  const replaced = target.kind === "several" ? childrenOf(pid) : [];
  const isGone = (child: number) => !childrenOf(pid).includes(child);
  signal(pid, "SIGHUP");
  await Promise.all(
    replaced.map((child) =>
      incidents.over("replaced", "stopping", child, () =>
        until(
          () => isGone(child),
          "",
          REPLACED_WITHIN_MS,
        ).catch(() => {}))
    ),
  );
}

/** Whether the worker, or one that it supervises, is registered: before that, TERM and HUP just end the process. */
async function listens({ target, store }: Scene): Promise<boolean> {
  const pids = [target.program.pid, ...childrenOf(target.program.pid)];
  return (await insist(() => store.workers.list())).some(({ pid }) => pids.includes(pid));
}

async function quiet({ target, forMs, store }: Scene): Promise<void> {
  const { pid } = target.program;
  if (target.kind === "remote") {
    const worker = (await insist(() => store.workers.list())).find((one) => one.pid === pid);
    if (worker === undefined) return;
    const send = (verb: "quiet" | "resume") => store.workers.send(worker.id, { id: verb, verb }).catch(() => {});
    await send("quiet");
    await pause(forMs);
    return void await send("resume");
  }
  signal(pid, "SIGTSTP");
  await pause(forMs);
  if (target.program.pid === pid) signal(pid, "SIGCONT");
}

/** Cancels a job that is queued or running, if one is. */
async function cancelOne({ store, random, cancel }: Scene): Promise<void> {
  const place: Place = random.chance(0.5) ? { in: "running" } : { in: "queue", queue: "default" };
  const { entries } = await insist(() => store.admin.page(place));
  const job = JSON.parse(entries[random.between(0, entries.length - 1)]?.payload ?? "{}");
  // A cancelled occurrence would look like one that the crontab has missed.
  if (job.jid !== undefined && job.occurrence === undefined) await cancel(String(job.jid));
}

async function pauseQueue({ store, random, forMs }: Scene): Promise<void> {
  const queue = QUEUES[random.between(0, QUEUES.length - 1)]!;
  await insist(() => store.admin.configure(queue, { pause: true }));
  await pause(forMs);
  await insist(() => store.admin.configure(queue, { pause: false }));
}
