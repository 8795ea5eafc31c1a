/**
 * Converts between a worker's record and Sidekiq's fields (readable by 6.4 to 8.1).
 *
 * @module
 */
import type { OpenCircuit } from "../../job/endpoint.ts";
import { readWireTime, wireTime } from "../../job/raw.ts";
import type {
  BlockedLoop,
  ClassTotals,
  OutboxRecord,
  RunningJobRecord,
  WorkerInfo,
  WorkerRecord,
} from "../port/workers.ts";

/** Returns the JSON of Sidekiq's field `info`. */
export function infoOf(worker: WorkerRecord): string {
  const weights = Object.values(worker.weights);
  const mode = weights.every((weight) => weight === 0)
    ? "strict"
    : weights.every((weight) => weight === 1)
    ? "random"
    : "weighted";
  const capsule = { concurrency: worker.concurrency, mode, weights: worker.weights };
  const info = JSON.stringify({
    hostname: worker.hostname,
    pid: worker.pid,
    processKey: worker.processKey,
    owner: worker.owner,
    program: worker.program,
    tag: worker.tag,
    concurrency: worker.concurrency,
    queues: worker.queues,
    weights: [worker.weights],
    labels: worker.labels,
    identity: worker.id,
    version: worker.version,
    embedded: false,
    capsules: { default: capsule },
    classes: worker.classes,
    totals: worker.totals,
    blocked: worker.blocked,
    circuits: worker.circuits,
    outbox: worker.outbox,
    stopping: worker.stopping,
    quietSince: worker.quietSince,
    heartbeatMs: worker.heartbeatMs,
    clockAt: worker.clockAt,
  });
  // JSON.stringify would drop a zero fraction, and Sidekiq 8 takes a number without one for milliseconds.
  return `{"started_at":${wireTime(worker.startedAt)},${info.slice(1)}`;
}

/** Returns the JSON of one running job. */
export function workOf(
  { queue, payload, since, progress, lastLine, log, abortReason, abortedAt }: RunningJobRecord,
): string {
  const output = JSON.stringify({ progress, lastLine, log, abortReason, abortedAt }).slice(1);
  return `{"queue":${JSON.stringify(queue)},"payload":${JSON.stringify(payload)},"run_at":${wireTime(since)}${
    output === "}" ? output : `,${output}`
  }`;
}

/** The fields of a worker in Redis: Sidekiq's, and its running jobs by task. */
export interface WorkerFields {
  readonly info: string | null;
  readonly concurrency: string | null;
  readonly busy: string | null;
  readonly beat: string | null;
  readonly quiet: string | null;
  readonly rss: string | null;
  readonly work: Readonly<Record<string, string>>;
}

/** Reads a worker of this program or of Sidekiq from its fields. */
export function readWorker(id: string, fields: WorkerFields, alive: boolean): WorkerInfo {
  const info = readObject(fields.info);
  const [hostname = "", pid = ""] = id.split(":");
  const heartbeatAt = readWireTime(readNumber(fields.beat)) ?? 0;
  return {
    id,
    hostname: readString(info["hostname"]) ?? hostname,
    pid: readNumber(info["pid"]) ?? (Number(pid) || 0),
    ...(typeof info["clockAt"] === "number" && { clockAt: info["clockAt"] }),
    ...(typeof info["processKey"] === "string" && { processKey: info["processKey"] }),
    ...(typeof info["owner"] === "string" && { owner: info["owner"] }),
    ...(info["program"] === true && { program: true }),
    tag: readString(info["tag"]) ?? "",
    labels: readStrings(info["labels"]),
    queues: readStrings(info["queues"]),
    weights: readWeights(info["weights"]),
    concurrency: readNumber(fields.concurrency) ?? readNumber(info["concurrency"]) ?? 0,
    version: readString(info["version"]) ?? "",
    startedAt: readWireTime(info["started_at"]) ?? heartbeatAt,
    quiet: fields.quiet === "true",
    ...(info["stopping"] === true && { stopping: true }),
    ...(typeof info["quietSince"] === "number" && { quietSince: info["quietSince"] }),
    ...(typeof info["heartbeatMs"] === "number" && { heartbeatMs: info["heartbeatMs"] }),
    busy: readNumber(fields.busy) ?? 0,
    rss: (readNumber(fields.rss) ?? 0) * 1024,
    work: Object.entries(fields.work).map(([task, json]) => readWork(task, json)),
    ...(Array.isArray(info["classes"]) && { classes: readStrings(info["classes"]) }),
    ...(isObject(info["totals"]) && { totals: readTotals(info["totals"]) }),
    ...(isObject(info["blocked"]) && { blocked: readBlocked(info["blocked"]) }),
    ...(Array.isArray(info["circuits"]) && { circuits: info["circuits"].filter(isObject).map(readCircuit) }),
    ...(isObject(info["outbox"]) && { outbox: readOutbox(info["outbox"]) }),
    heartbeatAt,
    alive,
  };
}

function readCircuit({ host, state, failures, since, error, classes }: Record<string, unknown>): OpenCircuit {
  return {
    host: readString(host) ?? "",
    state: state === "halfOpen" ? state : "open",
    failures: readNumber(failures) ?? 0,
    since: readNumber(since) ?? 0,
    error: readString(error) ?? "",
    ...(Array.isArray(classes) && { classes: readStrings(classes) }),
  };
}

function readOutbox({ waiting, oldestMs, refused, pushed, error, since }: Record<string, unknown>): OutboxRecord {
  return {
    waiting: readNumber(waiting) ?? 0,
    ...(typeof oldestMs === "number" && { oldestMs }),
    refused: readNumber(refused) ?? 0,
    pushed: readNumber(pushed) ?? 0,
    ...(typeof error === "string" && { error }),
    ...(typeof since === "number" && { since }),
  };
}

function readBlocked(blocked: Record<string, unknown>): BlockedLoop {
  const texts = (["task", "class", "jid"] as const).flatMap((name) => {
    const text = readString(blocked[name]);
    return text === undefined ? [] : [[name, text]];
  });
  return { since: readNumber(blocked["since"]) ?? 0, ...Object.fromEntries(texts) };
}

function readWork(task: string, json: string): RunningJobRecord {
  const work = readObject(json);
  const payload = work["payload"];
  return {
    task,
    queue: readString(work["queue"]) ?? "",
    payload: typeof payload === "string" ? payload : JSON.stringify(payload ?? null),
    since: readWireTime(work["run_at"]) ?? 0,
    ...(typeof work["progress"] === "string" && { progress: work["progress"] }),
    ...(typeof work["lastLine"] === "string" && { lastLine: work["lastLine"] }),
    ...(Array.isArray(work["log"]) && { log: readStrings(work["log"]) }),
    ...(typeof work["abortReason"] === "string" && { abortReason: work["abortReason"] }),
    ...(typeof work["abortedAt"] === "number" && { abortedAt: work["abortedAt"] }),
  };
}

/** Reads the weights. Versions of Sidekiq write one object, or one per capsule. */
function readWeights(value: unknown): Record<string, number> {
  const weights: Record<string, number> = {};
  for (const one of Array.isArray(value) ? value : [value]) {
    if (typeof one !== "object" || one === null) continue;
    for (const [queue, weight] of Object.entries(one)) if (typeof weight === "number") weights[queue] = weight;
  }
  return weights;
}

/** Reads the totals. A value that isn't a number counts as 0. */
function readTotals(totals: Record<string, unknown>): Record<string, ClassTotals> {
  return Object.fromEntries(
    Object.entries(totals).flatMap(([name, of]) => {
      if (!isObject(of)) return [];
      const count = (what: keyof ClassTotals) => readNumber(of[what]) ?? 0;
      return [[name, {
        succeeded: count("succeeded"),
        failed: count("failed"),
        cancelled: count("cancelled"),
        expired: count("expired"),
        workedMs: count("workedMs"),
      }]];
    }),
  );
}

function readObject(json: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json ?? "");
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function readString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function readStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function readNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}
