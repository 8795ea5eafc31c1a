import { assertEquals } from "@std/assert";
import { definitionText, LOADED_TTL_MS } from "../../cron/definition.ts";
import { checkCrontab } from "../../cron/crontab.ts";
import type { CronEntry } from "../../cron/entry.ts";
import type { StoredCron } from "../../store/port/cron.ts";
import {
  actionFor,
  definitionOfMissing,
  type EntryEvent,
  isForgettable,
  type OwnEntry,
  transition,
  UNKNOWN,
} from "./cron_entry_state.ts";

const WEEK_MS = 7 * 24 * 3_600_000;

function entry(className: string): CronEntry {
  const options = { environment: "test", classes: new Set([className]), queues: new Set(["default"]) };
  return checkCrontab([{ name: "report", every: "1m", class: className }], options).active[0]!;
}

function own(className: string): OwnEntry {
  return { entry: entry(className), text: definitionText(entry(className), "config") };
}

function stored(definition: string, seenAt = 0): StoredCron {
  return {
    name: "report",
    version: 1,
    definition,
    state: "{}",
    live: undefined,
    seenAt,
    shared: false,
    tags: [],
    next: 0,
  };
}

function after(...events: readonly EntryEvent[]) {
  return events.reduce(transition, UNKNOWN);
}

const MINE = own("Mine");
const THEIRS = own("Theirs").text;
const ADDED = definitionText(entry("Added"), "runtime");
const configured: EntryEvent = { kind: "configured", own: MINE };
const defined: EntryEvent = { kind: "defined", definition: MINE.text };
const found = (definition: string): EntryEvent => ({ kind: "found", definition });

Deno.test("a new definition replaces the stored one once, and later gives way to a newer one of others", () => {
  const first = after(configured, found(THEIRS));
  assertEquals(actionFor(first, stored(THEIRS), 0), { kind: "define", own: MINE });
  const written = after(configured, found(THEIRS), defined);
  assertEquals([written.isStored, written.isUnwritten], [true, false]);
  const replaced = transition(written, found(THEIRS));
  assertEquals(actionFor(replaced, stored(THEIRS), 0).kind, "decide");
});

Deno.test("a definition that is configured while an earlier one is being written is written next", () => {
  const newer = own("Newer");
  const both = after(configured, found(MINE.text), { kind: "configured", own: newer }, defined);
  assertEquals([both.isStored, both.isUnwritten], [false, true]);
  assertEquals(actionFor(both, stored(MINE.text), 0), { kind: "define", own: newer });
});

Deno.test("a definition that no worker has had for a while gives way to an own one", () => {
  const replaced = after(configured, defined, found(THEIRS));
  assertEquals(actionFor(replaced, stored(THEIRS), LOADED_TTL_MS).kind, "decide");
  assertEquals(actionFor(replaced, stored(THEIRS), LOADED_TTL_MS + 1), { kind: "define", own: MINE });
});

Deno.test("every worker decides on entries added at run time, and only those that have an entry on configured ones", () => {
  assertEquals(actionFor(after(found(ADDED)), stored(ADDED), 0).kind, "decide");
  assertEquals(actionFor(after(found(THEIRS)), stored(THEIRS), 0).kind, "ignore");
  assertEquals(actionFor(after(found("{")), stored("{"), 10 * WEEK_MS).kind, "ignore");
});

Deno.test("a configured entry that no worker has had for a week is removed, one added at run time never", () => {
  assertEquals(actionFor(after(found(THEIRS)), stored(THEIRS), WEEK_MS).kind, "ignore");
  assertEquals(actionFor(after(found(THEIRS)), stored(THEIRS), WEEK_MS + 1).kind, "remove");
  assertEquals(actionFor(after(found(ADDED)), stored(ADDED), 10 * WEEK_MS).kind, "decide");
});

Deno.test("a missing entry is written if it is new, or when it has been missing for a while", () => {
  const at = 5_000;
  const missing: EntryEvent = { kind: "missing", at };
  assertEquals(definitionOfMissing(after(configured, missing), at), MINE);
  const known = after(configured, defined, missing, { kind: "missing", at: at + 60_000 });
  assertEquals(definitionOfMissing(known, at + LOADED_TTL_MS - 1), undefined);
  assertEquals(definitionOfMissing(known, at + LOADED_TTL_MS), MINE);
  assertEquals(definitionOfMissing(after(missing), at + LOADED_TTL_MS), undefined);
});

Deno.test("an entry that leaves the configuration is to be removed until it has been, or is configured again", () => {
  const left = after(configured, defined, { kind: "unconfigured" });
  assertEquals([left.isRemoved, left.isStored, isForgettable(left)], [true, false, false]);
  assertEquals(isForgettable(transition(left, { kind: "removed" })), true);
  const again = transition(left, configured);
  assertEquals([again.isRemoved, again.isUnwritten], [false, true]);
});
