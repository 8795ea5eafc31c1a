import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Entry } from "../../store/admin/admin.ts";
import { Mask, MASKED } from "./mask.ts";
import { argsLine, document, editableArgs, MAX_PARSED_CHARS, viewEntry, viewRunning } from "./job_view.ts";

const mask = new Mask();

function show(payload: string) {
  return viewEntry({ ref: "r1", place: { in: "dead" }, payload } as Entry, mask);
}

Deno.test("A payload with an integer of a million digits is shown as text, without its secrets", () => {
  const job = show(`{"class":"A","password":"hunter2","args":[${"9".repeat(1_000_000)}]}`);
  assertEquals([job.class, job.ref, job.payload], ["(unreadable)", "r1", undefined]);
  assertEquals(job.args, `{"class":"A","password":"${MASKED}","args":[${"9".repeat(300)}`.slice(0, 300) + "…");
});

Deno.test("A payload of over 2 MiB is shown as text", () => {
  const job = show(`{"class":"A","args":["${"x".repeat(MAX_PARSED_CHARS)}"]}`);
  assertEquals([job.class, job.ref, job.args.length], ["(too large to be shown)", "r1", 301]);
});

Deno.test("Names, arguments and tags of a megabyte are cut", () => {
  const long = "x".repeat(400_000);
  const job = show(JSON.stringify({ class: long, args: [long, long], tags: [long, 1], error_class: long }));
  const lengths = [job.class, job.args, job.tags[0]!, job.error].map(({ length }) => length);
  assertEquals([...lengths, job.tags.length], [301, 300, 101, 401, 1]);
});

Deno.test("Arguments in a line and as a document keep their numbers as they are", () => {
  const args = [1, "a", { n: 12345678901234567890n, f: 1e20 }, Array(50).fill("abc")];
  assertStringIncludes(argsLine(args), `1, "a", {"n":12345678901234567890,"f":1e+20}, ["abc",`);
  assertStringIncludes(document(args), `    "n": 12345678901234567890,\n    "f": 1e+20\n`);
  assertEquals(document([1, 2]), "[1,2]");
});

Deno.test("Arguments can be edited where they are shown whole", () => {
  const payload = { class: "A", jid: "j", queue: "q", args: [1, { password: "x" }] };
  assertEquals(editableArgs(payload, mask), `[1,{"password":"${MASKED}"}]`);
  assertEquals(editableArgs({ ...payload, args: [1, "cipher"], encrypt: true }, mask), `[1,"${MASKED}"]`);
  assertEquals(editableArgs({ ...payload, args: Array(20_001).fill(1) }, mask), undefined);
  assertEquals(editableArgs({ ...payload, args: Array(15).fill("x".repeat(15_000)) }, mask), undefined);
});

Deno.test("Of a running job's log the last 200 lines are shown, of each 1,000 characters", () => {
  const line = "x".repeat(5_000);
  const log = [...Array<unknown>(300).fill(line), 7, "last"] as string[];
  const said = { progress: line, lastLine: line, log };
  const job = viewRunning({ task: "t", queue: "q", payload: "{}", since: 0, ...said }, mask);
  assertEquals([job.progress!.length, job.lastLine!.length], [301, 1_001]);
  assertEquals([job.log!.length, job.log![0]!.length, job.log!.at(-1)], [199, 1_001, "last"]);
});
