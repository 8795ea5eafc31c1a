/**
 * The cost of an idempotent push in that of a plain one: `deno run -A tests/bench/idempotent.ts URL [AT_ONCE] [PUSHES]
 * [ROUNDS]`. Pairs of short rounds, in alternating order, so that the machine's other load hits both alike. Prints the median
 * ratio of the wall time and of this process's processor time.
 */
import process from "node:process";
import { Client } from "../../src/client/client.ts";
import { defineJob } from "../../src/mod.ts";
import { openStore } from "../../src/store/open.ts";

const [url = "sqlite::memory:", atOnce = "1", pushes = "2000", rounds = "9"] = Deno.args;
await using store = await openStore(url);
const Mail = defineJob("Mail", (_ctx, _number: number, _to: string) => {});
const client = new Client({ store, jobs: [Mail] });
let number = 0;

/** Pushes jobs, some at once. Returns microseconds per job. */
async function round(isIdempotent: boolean): Promise<{ readonly wall: number; readonly cpu: number }> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  for (let i = 0; i < Number(pushes); i += Number(atOnce)) {
    await Promise.all(Array.from({ length: Number(atOnce) }, () => {
      const args: [number, string] = [++number, "ada@example.com"];
      return isIdempotent ? client.push(Mail, args, { id: `mail-${number}` }) : client.push(Mail, args);
    }));
  }
  const wall = (performance.now() - began) * 1_000 / Number(pushes);
  const { user, system } = process.cpuUsage(cpu);
  return { wall, cpu: (user + system) / Number(pushes) };
}

const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!;
await round(true);
await round(false);
const pairs: { readonly plain: Awaited<ReturnType<typeof round>>; readonly once: Awaited<ReturnType<typeof round>> }[] =
  [];
for (let i = 0; i < Number(rounds); i++) {
  const first = await round(i % 2 === 0);
  const second = await round(i % 2 !== 0);
  pairs.push(i % 2 === 0 ? { once: first, plain: second } : { once: second, plain: first });
}
const of = (name: "wall" | "cpu") => ({
  ratio: Number(median(pairs.map(({ plain, once }) => once[name] / plain[name])).toFixed(2)),
  plain: Math.round(median(pairs.map(({ plain }) => plain[name]))),
  once: Math.round(median(pairs.map(({ once }) => once[name]))),
});
console.log(JSON.stringify({ url: url.split(":")[0], atOnce: Number(atOnce), wall: of("wall"), cpu: of("cpu") }));
