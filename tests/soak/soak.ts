/**
 * A soak on one store: load and disturbances, then calm, then the account.
 *
 * @module
 */
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { jobsCommand } from "../support/command.ts";
import { until } from "../support/eventually.ts";
import type { StoreKind } from "../support/servers.ts";
import { checkBatch } from "../../src/store/ops/batch_check.ts";
import { cancelJob } from "../../src/store/ops/cancel.ts";
import { type Account, account } from "./account.ts";
import { Cast, GATEWAYS, REMOTE_WORKERS } from "./cast.ts";
import { lineDisturbances } from "./disturb_lines.ts";
import { foreignDisturbances } from "./disturb_foreign.ts";
import { operatorDisturbances } from "./disturb_operator.ts";
import { processDisturbances } from "./disturb_processes.ts";
import { type Drain, drain, jidsIn } from "./drain.ts";
import { failuresOf } from "./failures.ts";
import type { Ground, GroundOptions } from "./ground.ts";
import { Incidents } from "./incidents.ts";
import { insist } from "./insist.ts";
import { NARROW } from "./kinds.ts";
import { perform, type Stage } from "./perform.ts";
import { plan } from "./plan.ts";
import { withVariable } from "./processes.ts";
import { Random } from "./random.ts";
import { type JournalLine, type Push, readLines, runsOf } from "./records.ts";
import { openPostgresGround } from "./postgres_ground.ts";
import { openRedisGround } from "./redis_ground.ts";
import { sendNewsletter, SHOP_DISTURBANCES, SHOP_WORKERS, ShopCast } from "./shop_cast.ts";
import { openSqliteGround } from "./sqlite_ground.ts";
import { uptime } from "./uptime.ts";
import { watch } from "./watch.ts";

/** How to soak. */
export interface SoakOptions {
  readonly store: StoreKind;
  readonly seed: number;
  /** How long the load and the disturbances last. */
  readonly durationMs: number;
  /** How many workers, from 2 to 5. */
  readonly workers: number;
  /** Jobs pushed per second, not counting those pushed in bulk. */
  readonly rate: number;
  /** A worker without a heartbeat for this long is offline. */
  readonly heartbeatTimeoutMs: number;
  /** Soaks the example shop instead of the workers and jobs made for soaks. */
  readonly shop?: boolean;
  /** Only disturbances whose name contains one of these; default all. */
  readonly only?: readonly string[];
  /** An empty folder for logs and ledgers. */
  readonly folder: string;
  /** Ends everything before its time. */
  readonly signal?: AbortSignal;
}

/** The result of a soak. */
export interface SoakResult {
  readonly options: SoakOptions;
  readonly account: Account;
  /** How often each disturbance took place. */
  readonly disturbances: Readonly<Record<string, number>>;
  /** The disturbances that this machine doesn't allow. */
  readonly leftOut: readonly string[];
  /** The jobs that were there when the load stopped. */
  readonly drain: Drain;
  /** Programs that ended by themselves, did not end, or ended with an error. */
  readonly failures: readonly string[];
  /** Leftovers in the store, and processes that still run. */
  readonly leftovers: readonly string[];
}

const OPEN: Readonly<Record<StoreKind, (options: GroundOptions) => Promise<Ground>>> = {
  sqlite: openSqliteGround,
  redis: openRedisGround,
  postgres: openPostgresGround,
};
const PUSHERS = 2;
const LIMITS = { maxRescues: 3, shutdownTimeoutMs: 2_000 };
/** A process that still runs this long after its worker has ended is left behind. */
const LEFT_WITHIN_MS = 5_000;
const FORGOTTEN_WITHIN_MS = 45_000;
const JID_LENGTH = 24;
const CRON_ENTRIES = ["tick", "tock"];
/** Of the example shop, for each second of its load. */
const NEWSLETTERS_PER_SECOND = 20;

/**
 * Soaks a store.
 *
 * @throws what `signal` aborts with; then nothing is left either
 */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { folder, heartbeatTimeoutMs, signal = new AbortController().signal } = options;
  using log = await Deno.open(`${folder}/disturbances.log`, { append: true, create: true });
  const incidents = new Incidents((line) => void log.writeSync(new TextEncoder().encode(`${line}\n`)));
  await using ground = await OPEN[options.store]({ incidents, folder, heartbeatTimeoutMs });
  const id = crypto.randomUUID();
  const parts = { ...options, ...LIMITS, ground, incidents, id, pushers: PUSHERS };
  await using cast = options.shop ? new ShopCast({ ...parts, kinds: "shop" }) : new Cast({ ...parts, kinds: "all" });
  const aborted = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  try {
    return await Promise.race([soakWith(options, { incidents, ground, cast, id }), aborted]);
  } finally {
    cast.kill();
  }
}

/** The parts of a soak. */
interface Parts {
  readonly incidents: Incidents;
  readonly ground: Ground;
  readonly cast: Cast;
  readonly id: string;
}

async function soakWith(options: SoakOptions, { incidents, ground, cast, id }: Parts): Promise<SoakResult> {
  const { folder, heartbeatTimeoutMs, shop = false, only } = options;
  const { store } = ground;
  const batches = new Map<string, boolean>();
  const own = operator(ground, `${folder}/ledger-0`, id, batches);
  if (shop) await sendNewsletter(store, options.durationMs / 1_000 * NEWSLETTERS_PER_SECOND, own);
  else await prepare(ground);
  await cast.startWorkers();
  await cast.startRemotes();
  await cast.startPushers();
  const disturbances = [
    ...processDisturbances(heartbeatTimeoutMs),
    ...operatorDisturbances(),
    ...foreignDisturbances(),
    ...ground.disturbances,
    ...(ground.kind === "sqlite" ? lineDisturbances(heartbeatTimeoutMs, "remote") : []),
  ]
    .filter(({ name }) => only?.some((part) => name.includes(part)) ?? true)
    .filter(({ name }) => !shop || SHOP_DISTURBANCES.includes(name));
  const planned = plan(new Random(options.seed), {
    ...{ ...options, disturbances, pushers: PUSHERS },
    ...(shop
      ? { workers: SHOP_WORKERS, remotes: 0, gateways: 0 }
      : { workers: options.workers + REMOTE_WORKERS, remotes: REMOTE_WORKERS, gateways: GATEWAYS }),
  });
  const stage = { targets: cast.targets, incidents, store, ...own };
  const over = new AbortController();
  const watching = watch(store, `${folder}/heartbeats.log`, over.signal);
  await perform(planned, stage, options.durationMs);
  await calm(ground, cast);
  const drained = await drain(store);
  await allOthersForgotten(store, id);
  over.abort();
  await watching;
  const places = await jidsIn(store);
  await cast.stopWorkers();
  // Payloads of other programs that have no jid cannot be told apart.
  const runs = runsOf(readLines<JournalLine>([`${folder}/journal`])).filter(({ jid }) => jid?.length === JID_LENGTH);
  const pushes = readLines<Push>(Array.from({ length: PUSHERS + 1 }, (_, i) => `${folder}/ledger-${i}`));
  const evidence = { runs, pushes, incidents: incidents.incidents, outages: incidents.outages, jumps: incidents.jumps };
  const all = { ...evidence, ...places, ...LIMITS, heartbeatTimeoutMs };
  await Deno.writeTextFile(`${folder}/evidence.json`, JSON.stringify(all));
  return {
    options,
    account: account(all),
    disturbances: incidents.counts,
    leftOut: ground.leftOut,
    drain: drained,
    failures: failuresOf(cast.endings, evidence),
    leftovers: [...await ground.leftovers(), ...await processesLeft(id), ...await wrongBatches(ground, batches)],
  };
}

/**
 * Resolves when the last workers have forgotten those that died, which takes a heartbeat timeout: once all have stopped,
 * no worker is left to do it. Returns after a while if they don't: the account lists what is left.
 */
async function allOthersForgotten(store: Ground["store"], id: string): Promise<void> {
  const areRunning = (pids: readonly number[]) => {
    const running = new Set(withVariable(`SOAK_ID=${id}`).map(({ pid }) => pid));
    // A program in another runtime registers again after the death of its gateway, as a second worker with the same number.
    return pids.every((pid) => running.has(pid)) && new Set(pids).size === pids.length;
  };
  const listed = async () => (await insist(() => store.workers.list())).map(({ pid }) => pid);
  await until(async () => areRunning(await listed()), "", FORGOTTEN_WITHIN_MS).catch(() => {});
}

/** Returns the processes of this soak that still run, each as a line. */
async function processesLeft(id: string): Promise<string[]> {
  const left = () => withVariable(`SOAK_ID=${id}`);
  // A worker's child processes notice its end, which takes a busy machine a moment.
  await until(() => left().length === 0, "", LEFT_WITHIN_MS).catch(() => {});
  return left().map(({ pid, command }) => `process ${pid} ${command}`);
}

/** Returns the batches whose counters are wrong, or were, or which haven't ended, each as a line. */
async function wrongBatches({ store }: Ground, batches: ReadonlyMap<string, boolean>): Promise<string[]> {
  const lines: string[] = [];
  // One after the other: each check reads the store.
  for (const [batch, wasWrong] of batches) {
    const check = await insist(() => checkBatch(store, batch));
    if (wasWrong) lines.push(`batch ${batch}: its counters had to be corrected while its jobs ran`);
    else if (check?.result !== "right" || check.pending > 0) lines.push(`batch ${batch} ${JSON.stringify(check)}`);
  }
  return lines;
}

/** Limits queues, and adds cron entries. */
async function prepare({ store }: Ground): Promise<void> {
  await store.admin.configure("narrow", { limit: { running: NARROW } });
  await store.admin.configure("rated", { limit: { starts: { count: 20, perMs: 1_000 } } });
  const crontab = new Crontab({ store, client: new Client({ store }) });
  for (const name of CRON_ENTRIES) {
    await crontab.add({ name, every: "1s", class: "Tick", queue: "cron", catchUp: "all" });
  }
}

/** Stops the load, and undoes what disturbances may have left. */
async function calm({ store }: Ground, cast: Cast): Promise<void> {
  for (const { line } of cast.targets) line.clear();
  await cast.stopPushers();
  if (cast instanceof ShopCast) return;
  const crontab = new Crontab({ store, client: new Client({ store }) });
  for (const name of CRON_ENTRIES) await insist(() => crontab.remove(name));
}

/** The pushes and actions of the soak itself. Each reply is written to a ledger. */
function operator(
  { store, url, env, pushRaw }: Ground,
  ledger: string,
  id: string,
  batches: Map<string, boolean>,
): Omit<Stage, "targets" | "incidents" | "store"> {
  const client = new Client({ store, onUnregistered: () => {} });
  const write = (push: Omit<Push, "t">) =>
    Deno.writeTextFile(ledger, `${JSON.stringify({ ...push, t: uptime() })}\n`, { append: true });
  return {
    pushRaw,
    note: (push) => write({ ...push, from: uptime() }),
    batch: (batch, isWrong) => void batches.set(batch, isWrong),
    async command(...args) {
      const [program, ...first] = jobsCommand();
      const { stdout } = await new Deno.Command(program, {
        args: [...first, ...args, "--store", url],
        env: { ...env, SOAK_ID: id },
        stdin: "null",
        stderr: "null",
      }).output();
      try {
        return JSON.parse(new TextDecoder().decode(stdout));
      } catch {
        return undefined;
      }
    },
    async push(className) {
      const jid = crypto.randomUUID().replaceAll("-", "").slice(0, 24);
      const from = uptime();
      await insist(() => client.push({ class: className, args: [], jid }));
      await write({ jid, class: className, from, answer: "stored" });
    },
    async cancel(jid) {
      const from = uptime();
      const answer = await insist(() => cancelJob(store, jid, Date.now()));
      if (answer === "removed" || answer === "aborted") await write({ jid, class: "", from, answer });
    },
  };
}
