import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/clock.ts";
import { RunningJob } from "../handlers/running_job.ts";
import { parsePayload } from "../job/job.ts";
import { parseLossless } from "../job/json.ts";
import type { StoredStep } from "../store/port/steps.ts";
import { readHistory } from "./history.ts";
import { StepRunner } from "./runner.ts";

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

Deno.test("the store isn't read for the history of a first attempt, unless it ends steps itself", async () => {
  const clock = new FakeClock();
  let reads = 0;
  /** Returns the runner of a first attempt, and the history after `act`. */
  const historyAfter = async (act: (runner: StepRunner) => Promise<unknown>) => {
    const job = parsePayload(`{"class":"Test","args":[],"jid":"j","queue":"default"}`)!;
    const stored: StoredStep[] = [];
    const runner = new StepRunner(new RunningJob(job, "default", {} as never), {
      clock,
      build: () => Promise.resolve(undefined),
      steps: {
        read: () => {
          reads++;
          return Promise.resolve(stored);
        },
        remember: (step) => {
          stored.push(step);
          return Promise.resolve(step.record);
        },
        wait: ({ name }) => {
          stored.push({ name, record: OTHER });
          return Promise.resolve({ record: OTHER, leftMs: 0 });
        },
      },
    });
    await act(runner);
    const steps = parseLossless(await runner.history() ?? "[]") as { name: string; state: string; value: unknown }[];
    return steps.map(({ name, state, value }) => [name, state, value]);
  };

  const quick = historyAfter(async (runner) => {
    await runner.step("charge", () => ({ id: 12345678901234567890n }));
    await runner.step("large", () => "x".repeat(2_000));
    await runner.step("ship", () => {});
  });
  assertEquals(await quick, [
    ["charge", "succeeded", { id: 12345678901234567890n }],
    ["large", "succeeded", undefined],
    ["ship", "succeeded", undefined],
  ]);
  assertEquals(await historyAfter(() => Promise.resolve()), []);
  assertEquals(reads, 0);

  const sleeping = historyAfter(async (runner) => {
    await runner.step("charge", () => 1);
    await runner.sleep("nap", 1);
  });
  assertEquals((await sleeping).map(([name]) => name), ["nap", "charge"]);
  assertEquals(reads, 1);
  const isolated = historyAfter((runner) => runner.relay.remember({ name: "charge", record: OTHER }));
  assertEquals(await isolated, [["charge", "succeeded", undefined]]);
  assertEquals(reads, 2);
});
