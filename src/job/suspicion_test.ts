import { assertEquals } from "@std/assert";
import { afterDeath, type RunningSuspects, suspicionLevel } from "./suspicion.ts";

const NONE: RunningSuspects = { tokens: [], alone: true };
const ALONE: RunningSuspects = { tokens: ["a"], alone: true };
const IN_COMPANY: RunningSuspects = { tokens: ["a"], alone: false };
const AMONG_SUSPECTS: RunningSuspects = { tokens: ["a", "b"], alone: true };

/** Returns the payload of a job after these deaths. */
function after(deaths: readonly RunningSuspects[], maxRescues = 3, payload = '{"jid":"1"}'): string {
  for (const running of deaths) {
    const fate = afterDeath(payload, "a", running, maxRescues);
    if (fate.kind === "doomed") return `doomed ${fate.deaths} ${fate.payload}`;
    payload = fate.payload;
  }
  return payload;
}

Deno.test("the first death makes every job a suspect and counts none", () => {
  assertEquals(after([NONE]), '{"jid":"1","suspected":1}');
  assertEquals(after([{ tokens: ["b"], alone: true }]), '{"jid":"1","suspected":1}');
});

Deno.test("a suspect that had not started stays unchanged", () => {
  assertEquals(after([NONE, NONE, { tokens: ["b", "c"], alone: false }]), '{"jid":"1","suspected":1}');
});

Deno.test("a suspect that ran alone is to blame, and doomed for the last rescue", () => {
  assertEquals(after([NONE, ALONE]), '{"jid":"1","suspected":1,"rescues":1}');
  assertEquals(after([NONE, ALONE, ALONE, ALONE]), 'doomed 3 {"jid":"1","suspected":1,"rescues":3}');
  assertEquals(after([NONE, ALONE], 1), 'doomed 1 {"jid":"1","suspected":1,"rescues":1}');
});

Deno.test("a suspect that ran next to others is suspected more, and doomed after twice as many deaths", () => {
  assertEquals(after([NONE, IN_COMPANY]), '{"jid":"1","suspected":2}');
  assertEquals(after([NONE, AMONG_SUSPECTS, IN_COMPANY]), '{"jid":"1","suspected":3}');
  const six = [NONE, ...Array.from({ length: 6 }, () => IN_COMPANY)];
  assertEquals(after(six.slice(0, 6)), '{"jid":"1","suspected":6}');
  assertEquals(after(six), 'doomed 6 {"jid":"1","suspected":7}');
  assertEquals(after([NONE, IN_COMPANY, ALONE, ALONE, ALONE]), 'doomed 4 {"jid":"1","suspected":2,"rescues":3}');
});

Deno.test("a suspect runs next to others once, and then next to no other suspect", () => {
  assertEquals(suspicionLevel('{"jid":"1"}'), 0);
  assertEquals(suspicionLevel('{"args":["suspected"]}'), 0);
  assertEquals(suspicionLevel(after([NONE])), 1);
  assertEquals(suspicionLevel(after([NONE, IN_COMPANY])), 2);
  assertEquals(suspicionLevel(after([NONE, ALONE])), 2);
});

Deno.test("an unreadable payload is doomed at once, unchanged", () => {
  for (const text of ["{not json", "[]"]) {
    assertEquals(afterDeath(text, "a", NONE, 3), { kind: "doomed", payload: text, deaths: 0 });
  }
});

Deno.test("a job with invalid counts is doomed in the end, too", () => {
  const payload = '{"rescues":-1000000,"suspected":"2"}';
  assertEquals(after([ALONE, ALONE, ALONE], 3, payload), 'doomed 3 {"rescues":3,"suspected":1}');
});
