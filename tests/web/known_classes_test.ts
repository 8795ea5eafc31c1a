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
    assertEquals(await why(), ["No worker of queue &quot;default&quot; has a handler for Hard: it waits for one."]);
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
    const [entry] = await site.store.admin.find([(value as { jid: string }).jid]);
    const { queue, retry } = JSON.parse(entry!.payload);
    assertEquals([queue, retry], ["slow", 3]);
  },
);
