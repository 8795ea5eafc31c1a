import { assertEquals } from "@std/assert";
import { StoreError } from "../store/port/errors.ts";
import { OutageLog } from "./outage_log.ts";

const AWAY = new StoreError("unavailable", "Redis cannot be reached");
const FULL = new StoreError("full", "no room");

Deno.test("that Redis cannot be reached its connection tells; the parts say it at debug, and that it is over, too", () => {
  const outage = new OutageLog("redis://127.0.0.1:6379/0");
  assertEquals([outage.met("poller", AWAY), outage.met("fetcher", AWAY)], ["debug", "debug"]);
  assertEquals([outage.over("poller"), outage.over("poller"), outage.over("never")], ["debug", undefined, undefined]);
});

Deno.test("what the store does not tell, the first part tells; after it is over, the first one anew", () => {
  for (const outage of [new OutageLog("sqlite:/var/jobs.db"), new OutageLog("rediss://host")]) {
    assertEquals([outage.met("poller", FULL), outage.met("fetcher", FULL), outage.isMet], ["warn", "debug", true]);
    assertEquals([outage.over("fetcher"), outage.over("poller"), outage.isMet], ["debug", "warn", false]);
    assertEquals(outage.met("fetcher", FULL), "warn");
  }
});

Deno.test("what does not pass by itself each part tells", () => {
  const outage = new OutageLog("redis://h");
  const denied = new StoreError("denied", "no permission");
  assertEquals([outage.met("poller", AWAY), outage.met("rescuer", denied), outage.met("beat", new Error("x"))], [
    "debug",
    "warn",
    "warn",
  ]);
});
