import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Entry } from "../../store/port/entries.ts";
import { Mask, MASKED } from "../../text/mask.ts";
import { MAX_PARSED_CHARS } from "../../operator/query/filter.ts";
import { argsLine, document, editableArgs, viewEntry, viewRunning } from "./job_view.ts";

const mask = new Mask();

function show(payload: string) {
  return viewEntry({ ref: "r1", place: { in: "dead" }, payload } as Entry, mask);
}

Deno.test("shows a payload with an integer of a million digits as text, without its secrets", () => {
  const job = show(`{"class":"A","password":"hunter2","args":[${"9".repeat(1_000_000)}]}`);
  assertEquals([job.class, job.ref, job.payload], ["(unreadable)", "r1", undefined]);
  assertEquals(job.args, `{"class":"A","password":"${MASKED}","args":[${"9".repeat(300)}`.slice(0, 300) + "…");
});

Deno.test("shows a payload of over 2 MiB as text", () => {
  const job = show(`{"class":"A","args":["${"x".repeat(MAX_PARSED_CHARS)}"]}`);
  assertEquals([job.class, job.ref, job.args.length], ["(too large to be shown)", "r1", 301]);
});

Deno.test("cuts names, arguments and tags of a megabyte", () => {
  const long = "x".repeat(400_000);
  const job = show(JSON.stringify({ class: long, args: [long, long], tags: [long, 1], error_class: long }));
  const lengths = [job.class, job.args, job.tags[0]!, job.error].map(({ length }) => length);
  assertEquals([...lengths, job.tags.length], [301, 300, 101, 401, 1]);
});

Deno.test("keeps all digits of numbers in arguments, in a line and in a document", () => {
  const args = [1, "a", { n: 12345678901234567890n, f: 1e20 }, Array(50).fill("abc")];
  assertStringIncludes(argsLine(args), `1, "a", {"n":12345678901234567890,"f":1e+20}, ["abc",`);
  assertStringIncludes(document(args), `    "n": 12345678901234567890,\n    "f": 1e+20\n`);
  assertEquals(document([1, 2]), "[1,2]");
});

Deno.test("allows arguments to be edited if they are shown completely", () => {
  const payload = { class: "A", jid: "j", queue: "q", args: [1, { password: "x" }] };
  assertEquals(editableArgs(payload, mask), `[1,{"password":"${MASKED}"}]`);
  assertEquals(editableArgs({ ...payload, args: [1, "cipher"], encrypt: true }, mask), `[1,"${MASKED}"]`);
  assertEquals(editableArgs({ ...payload, args: Array(20_001).fill(1) }, mask), undefined);
  assertEquals(editableArgs({ ...payload, args: Array(15).fill("x".repeat(15_000)) }, mask), undefined);
});

Deno.test("shows the last 200 lines of a running job's log, up to 1,000 characters of each", () => {
  const line = "x".repeat(5_000);
  const log = [...Array<unknown>(300).fill(line), 7, "last"] as string[];
  const reported = { progress: line, lastLine: line, log };
  const job = viewRunning({ task: "t", queue: "q", payload: "{}", since: 0, ...reported }, mask);
  assertEquals([job.progress!.length, job.lastLine!.length], [301, 1_001]);
  assertEquals([job.log!.length, job.log![0]!.length, job.log!.at(-1)], [199, 1_001, "last"]);
});
