import { assertEquals, assertStrictEquals } from "@std/assert";
import { glance } from "./job_summary.ts";

const MIB = 1024 * 1024;

Deno.test("summarizes the call, the error and the jid of a job", () => {
  const payload = JSON.stringify({
    class: "Wrapper",
    display_class: "Mail::Send",
    args: ["bob", 5, { id: 1 }],
    jid: "j1",
    queue: "low",
    enqueued_at: 1.5,
    error_class: "TypeError",
    error_message: "no such account",
    retry_count: 2,
  });
  const read = { jid: "j1", queue: "low", enqueuedAt: 1.5, failure: "TypeError: no such account", failures: 3 };
  assertEquals(glance({ payload }), { ...read, call: `Mail::Send("bob", 5, {"id":1})` });
  const long = payload.replace('"bob"', `"${"b".repeat(MIB)}"`);
  assertEquals(glance({ payload: long }), { ...read, call: `Mail::Send("${"b".repeat(1_988)}…` });
});

Deno.test("shows an unreadable payload as text, with its jid if that is cheap to find", () => {
  assertEquals(glance({ payload: "no JSON" }), { call: "(unreadable) no JSON", failure: "", failures: 0 });
  assertEquals(glance({ payload: '{"jid":"j1"}' }), {
    jid: "j1",
    call: '(unreadable) {"jid":"j1"}',
    failure: "",
    failures: 0,
  });
  assertEquals(glance({ payload: `{"class":"A","args":${" ".repeat(MIB)}` }).call.length, 2_001);
});

Deno.test("cuts every text", () => {
  const x = "x".repeat(MIB);
  for (
    const payload of [
      JSON.stringify({ class: x, args: [], jid: "j", error_class: x, error_message: x }),
      JSON.stringify({ class: "A", args: [x], display_class: x, error_class: "E", error_message: x }),
      `{"class":"A","args":[${"[".repeat(MIB)}${"]".repeat(MIB)}]}`,
      `{"class":"A","args":[${"9".repeat(MIB)}],"wrapped":${"9".repeat(MIB)}}`,
    ]
  ) {
    const { call, failure } = glance({ payload });
    assertEquals([call.length <= 2_001, failure.length <= 2_001], [true, true], payload.slice(0, 40));
  }
});

Deno.test("parses each object once", () => {
  const job = { payload: '{"class":"A","args":[1]}' };
  assertStrictEquals(glance(job), glance(job));
});
