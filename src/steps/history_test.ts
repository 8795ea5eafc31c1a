import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { parseLossless } from "../job/json.ts";
import { readHistory } from "./history.ts";

const RUNNING = '{"state":"running","kind":"each","since":1,"count":3}';
const ENDED = '{"state":"succeeded","kind":"each","since":1,"ended":2,"count":5}';
const OTHER = '{"state":"succeeded","kind":"step","since":0,"ended":1}';

/** Returns the names and states of steps in the history. */
function statesIn(history: string | undefined): string[] {
  const steps = parseLossless(history ?? "[]") as { name: string; state: string }[];
  return steps.map(({ name, state }) => `${name} ${state}`);
}

Deno.test("the history of a job shows the steps that aren't stored yet instead of their stored states", async () => {
  const steps = {
    read: () => Promise.resolve([{ name: "charge", record: OTHER }, { name: "rows", record: RUNNING }]),
  };
  const history = await readHistory({ steps, clock: new FakeClock() }, new Map([["rows", ENDED]]));
  assertEquals(statesIn(history), ["charge succeeded", "rows succeeded"]);
});

Deno.test("the history has only the steps that aren't stored if the store fails, or doesn't reply within a second", async () => {
  const unstored = new Map([["rows", ENDED]]);
  const failing = { read: () => Promise.reject(new Error("unreachable")) };
  assertEquals(statesIn(await readHistory({ steps: failing, clock: new FakeClock() }, unstored)), ["rows succeeded"]);
  const clock = new FakeClock();
  const history = readHistory({ steps: { read: () => new Promise(() => {}) }, clock }, unstored);
  await clock.advance(1_000);
  assertEquals(statesIn(await history), ["rows succeeded"]);
});
