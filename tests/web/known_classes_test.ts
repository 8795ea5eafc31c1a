import { assertEquals, assertStringIncludes } from "@std/assert";
import { onBothStores, push, workerRecord } from "./site.ts";
import type { Store } from "../../src/store/admin/store.ts";

const MINUTE_MS = 60_000;

/** Registers a live worker of queue `default` with these classes; a worker of Sidekiq reports none. */
async function beat(store: Store, worker: string, classes?: readonly string[]): Promise<void> {
  await store.workers.heartbeat(workerRecord(worker, classes && { classes }), MINUTE_MS);
}

onBothStores(
  "a job whose class no worker handles shows so, unless a worker reports no classes",
  async (site) => {
    await push(site.store, "q1"); // of class Hard
    const someone = site.visitor();
    const why = async () =>
      [...(await someone.visit("/jobs/q1")).text.matchAll(/<li>(.*?)<\/li>/gs)].map(([, reason]) => reason);
    await beat(site.store, "web1:7:abc", ["Other"]);
    assertEquals(await why(), [
      "No worker of queue &quot;default&quot; has a handler for Hard: it waits for one. web1:7:abc takes its jobs and lacks it. Start one with jobs run handlers.js -q default.",
    ]);
    await beat(site.store, "web1:8:abc", ["Hard"]);
    assertEquals(await why(), ["Nothing blocks it: a worker fetches it in its turn."]);
    await site.store.workers.deregister("web1:8:abc");
    await beat(site.store, "ruby1:9:abc");
    assertEquals(await why(), ["Nothing blocks it: a worker fetches it in its turn."]);
  },
);

onBothStores(
  "A new job may be of any class that servers have told of, and what they said of it holds",
  async (site) => {
    await site.store.classes.declare([{ name: "Told", options: '{"queue":"slow","retry":3}' }]);
    const someone = site.visitor();
    assertStringIncludes((await someone.visit("/push")).text, '<option value="Told"');
    const { value } = await someone.api("POST", "/jobs", { class: "Told", args: [] });
    const [entry] = await site.store.jobs.find([(value as { jid: string }).jid]);
    const { queue, retry } = JSON.parse(entry!.payload);
    assertEquals([queue, retry], ["slow", 3]);
  },
);

onBothStores(
  "A push of a class that no worker has registered is stored, and its response has a warning",
  async (site) => {
    await site.store.classes.declare([{ name: "Known", options: "{}" }]);
    const someone = site.visitor();
    await someone.visit("/");
    const pushed = async (path: string, body: unknown) => {
      const { status, value } = await someone.api("POST", path, body);
      return [status, value["warnings"]];
    };
    const warning = (name: string) =>
      `class "${name}" isn't registered: no worker has run it yet, so its jobs wait until one does`;
    assertEquals(await pushed("/jobs", { class: "Known" }), [201, undefined]);
    // Each time, and not only in the log, which names a class once.
    for (let i = 0; i < 2; i++) {
      assertEquals(await pushed("/jobs", { class: "Typo", jid: `t${i}` }), [201, [
        warning("Typo"),
      ]]);
    }
    assertEquals(await pushed("/jobs", { class: "Typo", jid: "t0" }), [200, undefined]);
    const list = [{ class: "B" }, { class: "Known" }, { class: "A" }, { class: "B" }, { class: "Bad", args: 5 }, 7];
    assertEquals(await pushed("/jobs", list), [201, [warning("B"), warning("A")]]);
    assertEquals(await pushed("/jobs/t0/push-again", { class: "Typo" }), [201, [warning("Typo")]]);
    assertEquals(await pushed("/jobs/t1/push-again", { class: "Known" }), [201, undefined]);
    const known = { class: "Known" };
    assertEquals(await pushed("/batches", { success: known }), [201, undefined]);
    assertEquals(await pushed("/batches", { success: known, death: { class: "C" } }), [201, [warning("C")]]);
    assertEquals(await pushed("/flows", { name: "f", nodes: { a: known, b: known } }), [201, undefined]);
    const nodes = { a: known, b: { class: "D", after: "a" }, c: { class: "D" } };
    assertEquals(await pushed("/flows", { name: "f", nodes, complete: { class: "E" } }), [201, [
      warning("D"),
      warning("E"),
    ]]);
    assertEquals((await pushed("/flows", { name: "f", nodes: { a: { class: "F", after: "b" } } }))[1], undefined);
    const many = Array.from({ length: 100 }, (_, i) => ({ class: `Many${i}` }));
    assertEquals(((await pushed("/jobs", many))[1] as string[]).length, 20);
  },
);
