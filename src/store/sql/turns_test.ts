import { assertEquals } from "@std/assert";
import { HEAD_START } from "../../job/priority.ts";
import { type Group, type Start, Turns } from "./turns.ts";

const START: Start = { size: 0, tag: 0, vtime: 0, high: undefined, ready: 2, most: 6, minTurn: 1 };

/** Returns the groups of each turn with the number of jobs, as `ID:COUNT`. All groups are known from the start. */
function run(start: Partial<Start>, groups: Group[], weights: Record<number, number> = {}): string[] {
  const turns = new Turns<Group>({ ...START, ready: groups.length, ...start });
  turns.add(groups, undefined);
  const log: string[] = [];
  for (let group; turns.count < (start.most ?? START.most) && (group = turns.begin()) !== undefined;) {
    const weight = group === "ungrouped" ? 1 : weights[group.id] ?? 1;
    const size = group === "ungrouped" ? 1 : group.size;
    const count = Math.min(turns.room(weight), size);
    turns.end(group, count, weight);
    log.push(`${group === "ungrouped" ? group : group.id}:${count}`);
  }
  return log;
}

Deno.test("the group with the lowest tag is next, and each job adds to its tag", () => {
  const groups = [{ id: 1, tag: 0, size: 9 }, { id: 2, tag: 1.5, size: 9 }, { id: 3, tag: 9, size: 9 }];
  assertEquals(run({ most: 4 }, groups), ["1:1", "1:1", "2:1", "1:1"]);
});

Deno.test("a group gives jobs in proportion to its weight", () => {
  const groups = [{ id: 1, tag: 0, size: 99 }, { id: 2, tag: 0, size: 99 }];
  assertEquals(run({ most: 8 }, groups, { 2: 3 }), ["1:4", "2:4"]);
});

Deno.test("the jobs without a group are next if their tag is the lowest, and don't catch up after a pause", () => {
  const groups = [{ id: 1, tag: 5, size: 9 }];
  const turns = run({ size: 2, tag: 0, vtime: 5, ready: 1, most: 4 }, groups);
  assertEquals(turns, ["ungrouped:1", "1:2", "ungrouped:1"]);
});

Deno.test("the group of high priority has a head start", () => {
  const groups = [{ id: 1, tag: 0, size: 1 }, { id: 2, tag: HEAD_START / 2, size: 1 }];
  assertEquals(run({ high: 2 }, groups), ["2:1", "1:1"]);
});

Deno.test("a group of high priority that was idle is charged from the queue's time on, not from its last turn", () => {
  const idle = { id: 2, tag: 0, size: 2 };
  const turns = new Turns<Group>({ ...START, high: 2, vtime: 9 * HEAD_START, ready: 1 });
  turns.add([idle], undefined);
  turns.end(turns.begin()!, 1);
  assertEquals(idle.tag, 9 * HEAD_START + 1);
});

Deno.test("more groups are read while one of them may be next", () => {
  const turns = new Turns<Group>(START);
  assertEquals(turns.unread, { tag: -Infinity, id: 0 });
  turns.add([{ id: 1, tag: 0, size: 9 }, { id: 2, tag: 1, size: 9 }], { tag: 1, id: 2 });
  assertEquals(turns.unread, undefined);
  turns.end(turns.begin()!, 3);
  assertEquals(turns.unread, undefined, "the last group that was read is next");
  turns.end(turns.begin()!, 3);
  assertEquals(turns.unread, { tag: 1, id: 2 });
});
