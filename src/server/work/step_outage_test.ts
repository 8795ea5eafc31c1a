import { assertEquals } from "@std/assert";
import { StoreError } from "../../store/port/errors.ts";
import { KeptLog } from "../../../tests/support/log.ts";
import { OutageLog } from "../component.ts";
import { LoggedStepOutage } from "./step_outage.ts";

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
