import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { KeptLog } from "../../tests/support/log.ts";
import { getField } from "../job/raw.ts";
import type { Alert } from "../operator/alerts/alert.ts";
import { openStore } from "../store/open.ts";
import { AlertNotices } from "./alert_notices.ts";

const BEHIND: Alert = { kind: "warn", about: "queues", title: 'Queue "a" is 5m behind', detail: "Busy.", actions: [] };

Deno.test("sends an alert when it fires, and again after an hour, with any number of dashboards", async () => {
  const clock = new FakeClock();
  await using store = await openStore("sqlite::memory:", { clock });
  let alerts: readonly Alert[] = [BEHIND];
  let reads = 0;
  const log = new KeptLog();
  const make = () => new AlertNotices({ store, clock, log, readAlerts: () => (reads++, Promise.resolve(alerts)) });
  const [one, other] = [make(), make()];
  const sent = async () =>
    (await store.admin.page({ in: "queue", queue: "webhooks" })).entries.map(({ payload }) => {
      const [{ type, data }] = getField(payload, "args") as [{ type: string; data: { title: string } }];
      return [getField(payload, "class"), type, data.title];
    });
  await store.webhooks.declare([{ name: "jobs", on: ["dead"] }, { name: "named" }]);
  await one.step();
  assertEquals([reads, await sent()], [0, []], "without a webhook for them, no alerts are read");
  await store.webhooks.declare([{ name: "a", on: ["alert"] }, { name: "b", on: ["dead", "alert"] }]);
  await one.step();
  alerts = [{ ...BEHIND, title: 'Queue "a" is 6m behind' }, { ...BEHIND, title: "Another" }];
  await other.step();
  await clock.advance(3_599_999);
  await one.step();
  const first = ["a", "b"].map((name) => [`webhook:${name}`, "alert", BEHIND.title]);
  const another = ["a", "b"].map((name) => [`webhook:${name}`, "alert", "Another"]);
  assertEquals(await sent(), [...first, ...another]);
  await clock.advance(1);
  await one.step();
  assertEquals((await sent()).length, 8);
});

Deno.test("alerts are looked at every 30 s, also after a failure", async () => {
  const clock = new FakeClock();
  const log = new KeptLog();
  let reads = 0;
  const read = () => (reads++, Promise.reject(new Error("no store")));
  const store = { webhooks: { read, declare: () => Promise.resolve() }, jobs: {} as never };
  const notices = new AlertNotices({ store, clock, log, readAlerts: () => Promise.resolve([]) });
  notices.start();
  await clock.untilSleeping();
  await clock.advance(29_999);
  assertEquals(reads, 0);
  await clock.advance(1);
  await clock.untilSleeping();
  assertEquals([reads, log.said], [1, ["warn Failed to send alerts to webhooks"]]);
  await clock.advance(30_000);
  assertEquals(reads, 2);
  await notices.close();
  assertEquals(clock.sleeping, []);
});
