import { assertEquals } from "@std/assert";
import { cronSteps, type CronWrite } from "./cron.ts";

function write(name: number, jobs = 0, characters = 10): CronWrite {
  const payload = "x".repeat(characters);
  const job = { jid: "", queue: "default", payload };
  return { name: `${name}`, version: 0, state: "", jobs: Array(jobs).fill(job), awaited: false, records: [] };
}

const sizes = (writes: CronWrite[]) => cronSteps(writes).map((step) => step.length);

Deno.test("cron steps: 64 entries with a job in one step, 128 without", () => {
  assertEquals(sizes([]), []);
  assertEquals(sizes(Array.from({ length: 129 }, (_, i) => write(i, 1))), [64, 64, 1]);
  assertEquals(sizes(Array.from({ length: 129 }, (_, i) => write(i))), [128, 1]);
});

Deno.test("cron steps: large entries in fewer, and one of any size by itself", () => {
  assertEquals(sizes([write(0, 1), write(1, 1, 1e6), write(2, 1)]), [1, 1, 1]);
  assertEquals(sizes(Array.from({ length: 6 }, (_, i) => write(i, 1, 100_000))), [2, 2, 2]);
  assertEquals(sizes([write(0, 250), write(1)]), [1, 1]);
});
