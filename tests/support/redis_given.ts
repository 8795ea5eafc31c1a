/**
 * Keys of a small store on Redis, as commands: batches, a flow, groups, leases, steps, a cron entry and a lock.
 *
 * @module
 */
import type { Call } from "./redis_whole.ts";

/** Words, split at spaces. `·` is a space in a word, `""` an empty word. */
function words(text: string): string[] {
  return text.trim().split(/\s+/).map((word) => word === '""' ? "" : word.replaceAll("·", " "));
}

/** Returns a call of a script. Its keys, its arguments and each command are words. */
export function call(keys: string, args: string, given: readonly string[], kept: readonly string[] = []): Call {
  const split = (text: string) => text === "" ? [] : words(text);
  return { keys: split(keys), args: split(args), given: given.map(words), kept };
}

export const NOW = Date.now();
export const LATER = NOW + 3_600_000;
export const WORKER = "w:1:aaaa";
export const LEASES = `jobs:leases:${WORKER}`;
export const TOKEN = "019000000000123456789abcdef-10000:default";
export const GROUPED = "019000000000123456789abcdef-10001:default|g";
export const payload = (jid: string, more = "") => `{"class":"A","args":[],"jid":"${jid}"${more}}`;
export const open = (jid: string, more = "") => payload(jid, more).slice(0, -1);
export const WAITING = `{"state":"waiting","until":${LATER},"since":1,"kind":"wait","key":"k"}`;

const batch = (id: string, more = "") =>
  `HSET jobs:batch:${id} id ${id} spec {} created 1 close_within 1000000 keep 1000 wire 8 due ${LATER} version 0 total 1 ` +
  `pending 1 dead 0 succeeded 0 failed 0 cancelled 0 expired 0 deleted 0 success:queue default ` +
  `success:payload ${open("done")} ${more}`;
export const BATCHES = [
  batch("p"),
  batch("b", "parent p counted pending"),
  `ZADD jobs:batches 0 b 0 p`,
  `ZADD jobs:batches:due ${LATER} b ${LATER} p`,
];
const NODE = `s:n waiting·1 n:n 0 j:n {"queue":"default"} f:n ["o"] p:n ${open("n")} s:o waiting·1 n:o 1 ` +
  `j:o {"queue":"default"} f:o [] p:o ${open("o")}`;
export const FLOW = [
  batch("f", "flow 1 waiting 2 parent p counted pending"),
  batch("p"),
  `HSET jobs:flow:f ${NODE}`,
  "RPUSH jobs:flow:f:nodes n o",
  "RPUSH jobs:flow:f:roots n",
  "ZADD jobs:flows 0 f",
  `ZADD jobs:batches:due ${LATER} f`,
];
export const GROUPS = [
  "HSET jobs:limits default 2·0·0·g",
  "HSET jobs:groups:state:default v 1 u 1 size 2",
  `HSET jobs:groups:limits:default g 1·1·1000·1·0`,
  "ZADD jobs:groups:ready:default 1 g",
  "ZADD jobs:groups:held:default 1 h",
  "HSET jobs:groups:paused:default z 0",
  `LPUSH queue:default|g ${payload("g1")}`,
  `LPUSH queue:default|h ${payload("h1")}`,
  "SADD queues default",
];
export const LEASED = [
  `HSET ${LEASES} ${TOKEN} ${payload("j1")} ${GROUPED} ${payload("j2", `,"group":"g"`)}`,
  `HSET jobs:running:default|g ${GROUPED} ${WORKER}`,
  `ZADD jobs:workers ${LATER} ${WORKER}`,
  `HSET jobs:worker:${WORKER} ttl 60000 since 1`,
  `SADD processes ${WORKER}`,
];
/** Marks of cancelled leases: of the grouped one, and of one that has ended. */
export const CANCELLED = [`SADD jobs:cancelled:${WORKER} ${GROUPED} ended`];
export const ASLEEP = [
  `HSET jobs:steps:j w ${WAITING}`,
  `ZADD jobs:waiting:k 1 1·j·w`,
  `ZADD jobs:waiting ${LATER} 1·j·w`,
  `HSET jobs:waits wait·${Math.ceil(LATER / 3_600_000)} 1`,
  `ZADD schedule 5 ${payload("j", `,"has_steps":true`)}`,
];
export const SLEEPING = [...ASLEEP, "HSET jobs:steps:j '' 5".replace("''", '""')];
export const CRON = [
  "ZADD jobs:cron:index 0 e",
  "ZADD jobs:cron:due 1 e",
  "HSET jobs:cron:entries e 1·1·1·1·2·2·1:j1{}t{}",
  "ZADD jobs:cron:tag:t 0 e",
  "HSET jobs:cron:live j1 e",
  "LPUSH jobs:cron:log:e 1·r",
  "SET jobs:cron:version 1",
  "SET jobs:cron:changes 1",
];
export const LOCKED = [`SET jobs:unique-of:j1 u`, `SET jobs:unique:u ${LATER}·j1`];
