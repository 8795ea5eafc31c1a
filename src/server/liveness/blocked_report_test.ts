import { assertEquals } from "@std/assert";
import type { BlockedLoop } from "../../store/port/workers.ts";
import { BlockedReport } from "./blocked_report.ts";

const BY: BlockedLoop = { since: 1, class: "Spin", jid: "a", task: "processor-1" };

function lab() {
  const said: unknown[] = [];
  let by: BlockedLoop | undefined = BY;
  const report = new BlockedReport({
    standIn: { blocked: () => by, warn: (message, fields) => said.push([message, fields]) },
    beat: () => said.push("beat"),
    onOver: (ms, blockedBy) => said.push([ms, blockedBy?.jid]),
  });
  return { report, said, ends: (next?: BlockedLoop) => by = next };
}

Deno.test("a short block is only reported when it is over, by the job that ran last", () => {
  const { report, said, ends } = lab();
  for (const ms of [1_000, 1_250, 1_999]) report.blocked(ms);
  ends();
  report.over(2_000);
  assertEquals(said, [[2_000, "a"]]);
  report.over(5);
  assertEquals(said.slice(1), [[5, undefined]], "not by the job of the block before");
});

Deno.test("the job that blocked is named, although it has ended at the last look and another one runs", () => {
  for (const next of [undefined, { since: 1 }, { ...BY, since: 2, jid: "b" }]) {
    const { report, said, ends } = lab();
    report.blocked(1_000);
    ends(next);
    report.blocked(1_250);
    report.over(1_260);
    assertEquals(said, [[1_260, "a"]]);
  }
});

Deno.test("a job that only a later look can name is named", () => {
  const { report, said, ends } = lab();
  ends({ since: 1 });
  report.blocked(1_000);
  ends(BY);
  report.blocked(1_250);
  report.over(1_300);
  assertEquals(said, [[1_300, "a"]]);
});

Deno.test("a block of 2 s is stored before the next heartbeat is due, and so is its end", () => {
  const { report, said } = lab();
  report.blocked(1_999);
  assertEquals(said, []);
  report.blocked(2_000);
  assertEquals(said.splice(0), ["beat"]);
  report.sent(true);
  report.blocked(2_250);
  assertEquals(said, []);
  report.over(2_400);
  assertEquals(said.splice(0), [[2_400, "a"], "beat"]);
  report.sent(false);
  report.blocked(1_000);
  report.over(1_100);
  assertEquals(said, [[1_100, "a"]]);
});

Deno.test("each block of 10 s is logged once while it lasts", () => {
  const { report, said } = lab();
  report.sent(true);
  for (let blocks = 0; blocks < 2; blocks++) {
    report.blocked(9_999);
    assertEquals(said, []);
    report.blocked(10_000.4);
    report.blocked(20_000);
    const fields = { blockedMs: 10_000, class: "Spin", jid: "a", processor: "processor-1" };
    assertEquals(said.splice(0), [["Event loop is blocked: a handler does not yield", fields]]);
    report.over(20_100);
    assertEquals(said.splice(0), [[20_100, "a"], "beat"]);
  }
});
