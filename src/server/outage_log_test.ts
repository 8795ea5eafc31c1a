import { assertEquals } from "@std/assert";
import { KeptLog } from "../../tests/support/log.ts";
import { StoreError } from "../store/port/errors.ts";
import { HeartbeatLog, LoggedStepOutage, OutageLog } from "./outage_log.ts";

const UNREACHABLE = new StoreError("unavailable", "Redis cannot be reached");
const FULL = new StoreError("full", "no room");

Deno.test("components log an unreachable Redis and its recovery at debug, because the connection logs it", () => {
  const outage = new OutageLog("redis://127.0.0.1:6379/0");
  assertEquals([outage.met("poller", UNREACHABLE), outage.met("fetcher", UNREACHABLE)], ["debug", "debug"]);
  assertEquals([outage.over("poller"), outage.over("poller"), outage.over("never")], ["debug", undefined, undefined]);
});

Deno.test("the first component that meets any other outage warns, and again after the next one begins", () => {
  for (const outage of [new OutageLog("sqlite:/var/jobs.db"), new OutageLog("rediss://host")]) {
    assertEquals([outage.met("poller", FULL), outage.met("fetcher", FULL), outage.isMet], ["warn", "debug", true]);
    assertEquals([outage.over("fetcher"), outage.over("poller"), outage.isMet], ["debug", "warn", false]);
    assertEquals(outage.met("fetcher", FULL), "warn");
  }
});

Deno.test("each component warns of a failure that is not transient", () => {
  const outage = new OutageLog("redis://h");
  const denied = new StoreError("denied", "no permission");
  assertEquals([outage.met("poller", UNREACHABLE), outage.met("rescuer", denied), outage.met("beat", new Error("x"))], [
    "debug",
    "warn",
    "warn",
  ]);
});

function lab() {
  const log = new KeptLog();
  const outage = new OutageLog();
  return { log, outage, reports: new HeartbeatLog({ name: "heartbeat", log, outage }) };
}

Deno.test("each outage that only the heartbeat meets is a warning at its second failure, and one line when it is over", () => {
  const { log, outage, reports } = lab();
  reports.reached();
  assertEquals(log.said, []);
  for (let outages = 0; outages < 2; outages++) {
    for (let failures = 0; failures < 3; failures++) reports.failed("no route");
    assertEquals(outage.isMet, true);
    reports.reached();
    reports.reached();
    assertEquals(log.said, [
      "debug Heartbeat does not reach the store",
      "warn Heartbeat does not reach the store",
      "warn Heartbeat reaches the store again",
    ]);
    assertEquals(outage.isMet, false);
    log.lines.splice(0);
  }
});

Deno.test("a single failure, and an outage that another component has logged, are lines for debugging", () => {
  const { log, outage, reports } = lab();
  reports.failed("no route");
  reports.reached();
  outage.met("fetcher", new StoreError("unavailable", "no route"));
  for (let failures = 0; failures < 3; failures++) reports.failed("no route");
  reports.reached();
  assertEquals(log.said, [
    "debug Heartbeat does not reach the store",
    "debug Heartbeat reaches the store again",
    "debug Heartbeat does not reach the store",
    "debug Heartbeat reaches the store again",
  ]);
});

const error = new StoreError("full", "No space left");

Deno.test("steps that wait for a store log its failure once, and that it works again", () => {
  const log = new KeptLog();
  const outage = new OutageLog();
  const steps = new LoggedStepOutage(log, outage);
  for (let i = 0; i < 3; i++) steps.begin(error);
  for (const hasReplied of [false, true, true]) steps.end(hasReplied);
  assertEquals(log.lines, [
    { level: "warn", message: "Store failed, retrying", fields: { error: "No space left" } },
    { level: "warn", message: "Working again", fields: {} },
  ]);
  assertEquals(outage.isMet, false);
});

Deno.test("steps whose jobs are aborted don't log that the store works, and the next failure is logged again", () => {
  const log = new KeptLog();
  const outage = new OutageLog();
  const steps = new LoggedStepOutage(log, outage);
  for (let i = 0; i < 2; i++) {
    steps.begin(error);
    steps.end(false);
  }
  assertEquals(
    log.lines.map(({ level, message }) => [level, message]),
    Array(2).fill(["warn", "Store failed, retrying"]),
  );
  assertEquals(outage.isMet, false);
});
