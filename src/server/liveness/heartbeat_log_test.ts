import { assertEquals } from "@std/assert";
import { KeptLog } from "../../../tests/support/log.ts";
import { StoreError } from "../../store/port/errors.ts";
import { OutageLog } from "../component.ts";
import { HeartbeatLog } from "./heartbeat_log.ts";

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
