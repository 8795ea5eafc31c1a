import { assertEquals } from "@std/assert";
import { definitionText, readDefinition, readState, stateText } from "./definition.ts";
import type { CronEntry } from "./entry.ts";

const ENTRY: CronEntry = {
  name: "nightly",
  class: "Report",
  args: [9007199254740993n],
  schedule: { rule: "0 0 3 * * *", timezone: "UTC" },
  overlap: "allow",
  catchUp: { policy: "last", windowMs: 1_000 },
  options: {},
  everyProcess: false,
};

Deno.test("a definition and a state survive writing and reading", () => {
  const read = (entry: CronEntry, source: "config" | "runtime") =>
    readDefinition({ name: entry.name, definition: definitionText(entry, source) });
  assertEquals(read(ENTRY, "config"), { ...ENTRY, source: "config" });
  const bounds = { start: 1, end: 2, spreadMs: 3, offsetMs: 0 };
  const other: CronEntry = {
    ...{
      name: "other",
      class: "Report",
      args: [],
      memo: "a",
      everyProcess: true,
      overlap: "skip",
      options: { queue: "q" },
    },
    ...{ schedule: { everyMs: 5, anchor: 1, ...bounds }, catchUp: { policy: "all", windowMs: 1 } },
  };
  assertEquals(read(other, "runtime"), { ...other, source: "runtime" });
  const state = { schedule: { everyMs: 1_000, anchor: 0 }, considered: 1_700_000_000_000 };
  assertEquals(readState(stateText(state, state.schedule), { ...ENTRY, schedule: state.schedule }), state);
});

Deno.test("a definition or state with an invalid schedule is rejected", () => {
  const schedules = [
    { everyMs: 0, anchor: 0 },
    { everyMs: -60_000, anchor: 0 },
    { everyMs: 0.5, anchor: 0 },
    { everyMs: 1_000, anchor: "0" },
    { everyMs: 1_000, anchor: 1e300 },
    { rule: "0 0 99 * * *", timezone: "UTC" },
    { rule: "0 0 3 * * *", timezone: "Nowhere/Land" },
    { rule: "0 0 3 * * *" },
    null,
  ];
  for (const schedule of schedules) {
    const definition = definitionText({ ...ENTRY, schedule: schedule as never ?? {} }, "config");
    assertEquals(readDefinition({ name: "nightly", definition }), undefined);
    assertEquals(readState(JSON.stringify({ schedule, considered: 0 }), undefined), undefined);
  }
  assertEquals(readState(JSON.stringify({ schedule: ENTRY.schedule, considered: 1e300 }), undefined), undefined);
});
