import { assertEquals } from "@std/assert";
import { parseLossless } from "../../job/json.ts";
import type { Cancellation, Entry } from "../port/entries.ts";
import { cancelElsewhere, cancelJob, type CancelStore } from "./cancel.ts";
import type { NewRecord } from "../port/results.ts";
import { CANCELLED_WORKER } from "../port/workers.ts";

Deno.test("cancelJob deletes a waiting job in the step that keeps its record, and searches again if the job has moved", async () => {
  const payload = '{"class":"A","args":[],"jid":"a","queue":"low"}';
  const places: Entry[] = [
    { ref: "queued", place: { in: "queue", queue: "low" }, payload },
    { ref: "retrying", place: { in: "retry" }, payload },
  ];
  const kept: [NewRecord, unknown][] = [];
  const store: CancelStore = {
    jobs: {
      find: () => Promise.resolve([places[kept.length]!]),
      edit: (refs, edit) => Promise.resolve(kept.push([(edit as Cancellation).cancel, refs]) === 2 ? 1 : 0),
    },
    workers: { send: () => Promise.reject(new Error("it isn't running")) },
    steps: { read: () => Promise.resolve([]) },
  };
  assertEquals(await cancelJob(store, "a", 1_000), "removed");
  assertEquals(kept.map(([{ jid, ttlMs }, refs]) => [jid, ttlMs, refs]), [
    ["a", 24 * 3_600_000, ["queued"]],
    ["a", 24 * 3_600_000, ["retrying"]],
  ]);
  const { class: name, queue, state, endedAt } = parseLossless(kept[1]![0].body) as Record<string, unknown>;
  assertEquals({ name, queue, state, endedAt }, { name: "A", queue: "low", state: "cancelled", endedAt: 1_000 });
});

Deno.test("cancelJob says that a job moved if it was somewhere else each time, and cancelElsewhere that it isn't done", async () => {
  const payload = '{"class":"A","args":[],"jid":"a","queue":"low"}';
  const store: CancelStore = {
    jobs: {
      find: () => Promise.resolve([{ ref: "q", place: { in: "queue", queue: "low" }, payload }]),
      edit: () => Promise.resolve(0),
    },
    workers: { send: () => Promise.reject(new Error("it isn't running")) },
    steps: { read: () => Promise.resolve([]) },
  };
  assertEquals(await cancelJob(store, "a", 1_000), "moved");
  assertEquals(await cancelElsewhere(store, "a", "host:1:aaaaaaaaaaaa", 1_000), false);
});

Deno.test("cancelJob sends nothing for a job that was cancelled and whose worker is gone: no worker would receive it", async () => {
  const entry: Entry = {
    ref: "lease",
    place: { in: "running" },
    worker: CANCELLED_WORKER,
    payload: '{"class":"A","args":[],"jid":"a"}',
  };
  const store: CancelStore = {
    jobs: { find: () => Promise.resolve([entry]), edit: () => Promise.reject(new Error("a rescue ends it")) },
    workers: { send: () => Promise.reject(new Error("it has no worker")) },
    steps: { read: () => Promise.resolve([]) },
  };
  assertEquals(await cancelJob(store, "a", 1_000), "aborted");
});
