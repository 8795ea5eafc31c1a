import { assertEquals } from "@std/assert";
import { parseLossless } from "../../job/json.ts";
import type { Entry } from "../port/entries.ts";
import { cancelElsewhere, cancelJob, type CancelStore } from "./cancel.ts";
import type { NewRecord } from "../port/results.ts";
import { CANCELLED_WORKER } from "../port/workers.ts";

Deno.test("cancelJob deletes a waiting job in the step that keeps its record, and searches again if the job has moved", async () => {
  const payload = '{"class":"A","args":[],"jid":"a","queue":"low"}';
  const places: Entry[] = [
    { ref: "queued", place: { in: "queue", queue: "low" }, payload },
    { ref: "retrying", place: { in: "retry" }, payload },
  ];
  const kept: [NewRecord, string | undefined][] = [];
  const store: CancelStore = {
    admin: {
      find: () => Promise.resolve([places[kept.length]!]),
      edit: () => Promise.reject(new Error("not in a separate step")),
    },
    workers: { send: () => Promise.reject(new Error("it isn't running")) },
    steps: { read: () => Promise.resolve([]) },
    results: { keep: (record, ref) => Promise.resolve(kept.push([record, ref]) === 2) },
  };
  assertEquals(await cancelJob(store, "a", 1_000), "removed");
  assertEquals(kept.map(([{ jid, ttlMs }, ref]) => [jid, ttlMs, ref]), [
    ["a", 24 * 3_600_000, "queued"],
    ["a", 24 * 3_600_000, "retrying"],
  ]);
  const { class: name, queue, state, endedAt } = parseLossless(kept[1]![0].body) as Record<string, unknown>;
  assertEquals({ name, queue, state, endedAt }, { name: "A", queue: "low", state: "cancelled", endedAt: 1_000 });
});

Deno.test("cancelJob says that a job moved if it was somewhere else each time, and cancelElsewhere that it isn't done", async () => {
  const payload = '{"class":"A","args":[],"jid":"a","queue":"low"}';
  const store: CancelStore = {
    admin: {
      find: () => Promise.resolve([{ ref: "q", place: { in: "queue", queue: "low" }, payload }]),
      edit: () => Promise.reject(new Error("not in a separate step")),
    },
    workers: { send: () => Promise.reject(new Error("it isn't running")) },
    steps: { read: () => Promise.resolve([]) },
    results: { keep: () => Promise.resolve(false) },
  };
  assertEquals(await cancelJob(store, "a", 1_000), "moved");
  assertEquals(await cancelElsewhere(store, "a", undefined, 1_000), false);
});

Deno.test("cancelJob sends nothing for a job that was cancelled and whose worker is gone: no worker would receive it", async () => {
  const entry: Entry = {
    ref: "lease",
    place: { in: "running" },
    worker: CANCELLED_WORKER,
    payload: '{"class":"A","args":[],"jid":"a"}',
  };
  const store: CancelStore = {
    admin: { find: () => Promise.resolve([entry]), edit: () => Promise.reject(new Error("it has a lease")) },
    workers: { send: () => Promise.reject(new Error("it has no worker")) },
    steps: { read: () => Promise.resolve([]) },
    results: { keep: () => Promise.reject(new Error("a rescue ends it")) },
  };
  assertEquals(await cancelJob(store, "a", 1_000), "aborted");
});
