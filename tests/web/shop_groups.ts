/**
 * The shop's batches that are open, running, stuck and finished, flows, and orders that wait for an approval.
 *
 * @module
 */
import { Client } from "../../src/client/client.ts";
import { countedAs, countedIn } from "../../src/job/batch.ts";
import { TEND_LIMIT } from "../../src/store/port/batches.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";

/** The queues of these jobs. */
export const GROUP_QUEUES = ["news", "catalogue", "nightly", "orders"] as const;
/** Their classes. */
export const GROUP_CLASSES = [
  ...["Newsletter::Send", "Newsletter::Report", "Prices::Update", "Images::Resize", "Orders::Fulfil"],
  ...["Export::Orders", "Export::Payments", "Ledger::Reconcile", "Ledger::Post", "Reports::Revenue", "Reports::Mail"],
  ...["Feed::Download", "Feed::Parse", "Feed::Publish"],
] as const;

const DAY_MS = 86_400_000;

/** Stores batches, flows and waiting orders, part of them done by the worker. */
export async function fillGroups(store: Store, worker: string): Promise<void> {
  const client = new Client({ store, onUnregistered: () => {} });
  const end = (queue: string, limit: number, error?: readonly [name: string, message: string]) =>
    endMembers(store, { worker, queue, limit, error });
  await orders(store, client, worker);
  await fill(client, { name: "winter lookbook", tags: ["images"] }, "Images::Resize", 60, "catalogue");
  await end("catalogue", 60);
  await fill(client, { name: "prices of nordholz", tags: ["nordholz"] }, "Prices::Update", 240, "catalogue");
  await end("catalogue", 225);
  await end("catalogue", 11, ["PriceError", "Price of oak-chair is below its cost"]);
  await end("catalogue", 4, ["CSVError", 'Column "price" is empty']);
  const report = { class: "Newsletter::Report", args: [], queue: "news" };
  await fill(
    client,
    { name: "november newsletter", tags: ["november", "mail"], success: report, death: report },
    "Newsletter::Send",
    400,
    "news",
  );
  await end("news", 262);
  const open = await client.batches.open({ name: "returns of today", closeWithin: "12h" });
  for (let i = 0; i < 3; i++) await open.add("Orders::Fulfil", [48_390 + i], { queue: "orders", in: "2h" });

  const inNightly = { queue: "nightly" };
  await client.flow("catalogue sync", {
    download: { job: ["Feed::Download", ["nordholz"], inNightly] },
    parse: { job: ["Feed::Parse", [], inNightly], after: "download" },
    publish: { job: ["Feed::Publish", [], inNightly], after: "parse" },
  });
  await end("nightly", 1);
  await end("nightly", 1, ["FeedError", "Line 8,112 isn't UTF-8"]);
  await client.flow("nightly close", {
    orders: { job: ["Export::Orders", [], inNightly] },
    payments: { job: ["Export::Payments", [], inNightly] },
    reconcile: { job: ["Ledger::Reconcile", [], inNightly], after: ["orders", "payments"] },
    ledger: { job: ["Ledger::Post", [], inNightly], after: "reconcile" },
    revenue: { job: ["Reports::Revenue", [], inNightly], after: "reconcile" },
    mail: { job: ["Reports::Mail", ["finance@shop.example"], inNightly], after: ["ledger", "revenue"] },
  });
  await end("nightly", 2);
}

type BatchOptions = Parameters<Client["batch"]>[0];

async function fill(client: Client, options: BatchOptions, name: string, count: number, queue: string): Promise<void> {
  await client.batch(options, async (add) => {
    for (let i = 0; i < count; i++) await add(name, [i], { queue });
  });
}

interface Ends {
  readonly worker: string;
  readonly queue: string;
  readonly limit: number;
  readonly error: readonly [name: string, message: string] | undefined;
}

/** Ends the first jobs of a queue: with an error they are dead. */
async function endMembers(store: Store, { worker, queue, limit, error }: Ends): Promise<void> {
  const leases = await store.jobs.take({ queues: [queue], limit, worker });
  const outcomes = leases.map(({ token, payload }): Outcome => {
    const { jid } = JSON.parse(payload);
    const { id, node } = countedIn(payload)!;
    const batch = { id, from: "pending", ...(node !== undefined && { node }) } as const;
    if (error === undefined) return { token, kind: "ack", jid, batch: { ...batch, to: "succeeded" } };
    const [error_class, error_message] = error;
    const now = Date.now();
    const failed = {
      ...JSON.parse(payload),
      error_class,
      error_message,
      retry_count: 4,
      failed_at: now,
      retried_at: now,
    };
    return {
      token,
      kind: "bury",
      payload: countedAs(JSON.stringify(failed), "dead"),
      batch: { ...batch, to: "dead" },
    };
  });
  await store.jobs.settle(worker, outcomes);
  while ((await store.batches.tend(TEND_LIMIT)).more);
}

/** Orders that are charged, and wait for an approval; one sleeps. */
async function orders(store: Store, client: Client, worker: string): Promise<void> {
  for (let i = 0; i < 4; i++) await client.push("Orders::Fulfil", [48_301 + i * 11], { queue: "orders" });
  const leases = await store.jobs.take({ queues: ["orders"], limit: 4, worker });
  for (const [i, { token, payload }] of leases.entries()) {
    const { jid, args: [order] } = JSON.parse(payload);
    const lease = { worker, token, jid };
    const since = Date.now() - (i + 1) * 5_400_000;
    const value = JSON.stringify({ id: `ch_${order}`, amount: 18_900 + i * 450, currency: "EUR" });
    const times = `"state":"succeeded","since":${since},"ended":${since + 640}`;
    await store.steps.remember(lease, {
      name: "charge",
      record: `{${times},"kind":"step","attempts":1,"value":${value}}`,
    });
    const forMs = (i + 1) * DAY_MS;
    const key = `order:${order}`;
    if (i < 3) {
      const example = JSON.stringify(JSON.stringify({ approved: true, by: "mara" }));
      await store.steps.wait(lease, {
        name: "approval",
        about: `"kind":"wait","key":"${key}","example":${example}`,
        forMs,
        key,
      });
    } else await store.steps.wait(lease, { name: "cooling off", about: `"kind":"sleep"`, forMs });
    const marked = payload.replace(/}$/, ',"has_steps":true}');
    await store.jobs.settle(worker, [{ kind: "snooze", token, jid, steps: true, delayMs: forMs, payload: marked }]);
  }
}
