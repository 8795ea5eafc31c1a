/**
 * An operator who acts while jobs move: with the real command, on single jobs and on batches.
 *
 * @module
 */
import { Client } from "../../src/client/client.ts";
import type { Place } from "../../src/store/port/entries.ts";
import type { Disturbance, Scene } from "./disturbance.ts";
import { insist } from "./insist.ts";
import { QUEUES } from "./kinds.ts";
import type { Push } from "./records.ts";
import { pause } from "./uptime.ts";

/** The actions on one job: the places of such jobs, and the name in the ledger. */
const EDITS: readonly {
  readonly command: string;
  readonly answer: Push["answer"];
  readonly places: readonly Place[];
}[] = [
  { command: "kill", answer: "killed", places: [...queues(), { in: "scheduled" }, { in: "retry" }] },
  { command: "delete", answer: "removed", places: [...queues(), { in: "scheduled" }, { in: "dead" }] },
  { command: "retry", answer: "requeued", places: [{ in: "scheduled" }, { in: "retry" }, { in: "dead" }] },
];
const MEMBERS = 25;

/** @returns the actions on jobs and on batches */
export function operatorDisturbances(): Disturbance[] {
  const kind = (name: string, weight: number, run: Disturbance["run"]) =>
    ({ name, weight, hits: "queue", forMs: [0, 0], run }) as const;
  return [
    kind("act on a job", 3, actOnJob),
    kind("check a batch", 1, (scene) => actOnBatch(scene, "check")),
    kind("cancel a batch", 1, (scene) => actOnBatch(scene, "cancel")),
  ];
}

function queues(): Place[] {
  return QUEUES.filter((queue) => queue !== "cron").map((queue) => ({ in: "queue", queue }));
}

/** Kills, deletes or retries a job that is there now: by the time of the command it may have moved. */
async function actOnJob({ store, random, command, note }: Scene): Promise<void> {
  const { command: name, answer, places } = EDITS[random.between(0, EDITS.length - 1)]!;
  const place = places[random.between(0, places.length - 1)]!;
  const { entries } = await insist(() => store.admin.page(place));
  const jid = jidOf(entries[random.between(0, entries.length - 1)]?.payload);
  if (jid === undefined) return;
  const result = await command(name, jid, "--json");
  const count = Object.values(result ?? {}).find((value) => typeof value === "number");
  // Without a result the command may have taken effect.
  if (result === undefined) await note({ jid, class: "", answer: "tried" });
  else if (count === 1) await note({ jid, class: "", answer });
}

/** Pushes a batch, and checks or cancels it while its members run. */
async function actOnBatch({ store, random, command, note, batch }: Scene, verb: "check" | "cancel"): Promise<void> {
  const jids = Array.from({ length: MEMBERS }, () => crypto.randomUUID().replaceAll("-", "").slice(0, 24));
  const client = new Client({ store, onUnregistered: () => {} });
  const opened = await insist(() => client.batches.open({ name: verb }));
  for (const [i, jid] of jids.entries()) {
    const [name, args] = i % 3 === 0 ? ["Flaky", [1]] as const : ["Nap", [random.between(1, 400)]] as const;
    await insist(() => client.push({ class: name, args, jid, batch: opened.id }));
    await note({ jid, class: name, answer: "stored" });
  }
  await insist(() => opened.close());
  await pause(random.between(0, 1_000));
  const result = await command("batch", verb, opened.id, "--json");
  batch(opened.id, verb === "check" && result?.result === "corrected");
  // Running members end as they like; the others are gone.
  if (verb === "cancel") { for (const jid of jids) await note({ jid, class: "", answer: "aborted" }); }
}

/** Returns the jid of a payload, unless it is a cron occurrence: without it, one would look like a missed one. */
function jidOf(payload = "{}"): string | undefined {
  try {
    const { jid, occurrence } = JSON.parse(payload);
    return typeof jid === "string" && occurrence === undefined ? jid : undefined;
  } catch {
    return undefined;
  }
}
