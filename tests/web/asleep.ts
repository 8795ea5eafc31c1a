/** A job with durable steps, for the tests of its page. */
import type { Store } from "../../src/store/admin/store.ts";
import { workerRecord } from "./site.ts";

/** Stores a job that has charged a card, and sleeps until a signal comes; without a key, for a day. */
export async function asleep(
  store: Store,
  { jid, key }: { readonly jid: string; readonly key: string | undefined } = { jid: "o1", key: "order:42" },
): Promise<void> {
  const worker = "web1:7:abc";
  const payload = JSON.stringify({ class: "Order", args: [42], jid, queue: "default" });
  await store.workers.heartbeat(workerRecord(worker), 60_000);
  await store.jobs.enqueue([{ jid, queue: "default", payload }]);
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, worker });
  const { token } = lease!;
  const step = { worker, token, jid };
  const value = JSON.stringify({ card: "visa", password: "hunter2" });
  const record = `{"state":"succeeded","since":1,"ended":2,"kind":"step","attempts":1,"value":${value}}`;
  await store.steps.remember(step, { name: "charge", record });
  const about = key === undefined ? "" : `"kind":"wait","key":"${key}"`;
  await store.steps.wait(step, { name: "approval", about, forMs: 86_400_000, ...(key !== undefined && { key }) });
  const marked = payload.replace(/}$/, `,"has_steps":true}`);
  await store.jobs.settle(worker, [
    { kind: "snooze", token, jid, steps: true, delayMs: 86_400_000, payload: marked },
  ]);
}
