/**
 * A separate process on a SQLite store, for tests that kill it or fill its disk. Prints the acknowledged operations on
 * standard output. Arguments: the task, the address of the store, a name.
 *
 * - `push`: pushes batches without end. Each line has the first and the last number of a batch.
 * - `work`: takes and settles without end, so that no job leaves the store. Prints a line for each round.
 * - `some`: pushes 25 jobs, one by one, and ends.
 * - `fill`: pushes until the store rejects a job, and prints the code. Pushes again for every line on standard input.
 *
 * @module
 */
import { StoreError } from "../../src/store/port/errors.ts";
import { openStore } from "../../src/store/open.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { job, jobs, register, takeUpTo } from "../store_contract/jobs.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { ServerStore } from "../../src/store/port/store.ts";

const [what, url, name] = Deno.args as [string, string, string];
/** Numbers that no other process uses. */
const FIRST = Number(name) * 1_000_000;

async function push(store: ServerStore): Promise<never> {
  for (let n = FIRST;; n += 50) {
    await store.jobs.enqueue([...jobs(n, n + 39), ...jobs(n + 40, n + 49, { delayMs: n % 200 })]);
    say(`${n} ${n + 49}`);
  }
}

async function work(store: ServerStore): Promise<never> {
  const worker = await register(store, `host:${name}:aaaaaaaaaaaa`);
  for (let round = 0;; round++) {
    const leases = await takeUpTo(store, worker, 30);
    const outcomes = leases.map(({ token, payload }, i): Outcome => {
      const kinds = [
        { kind: "release" },
        { kind: "retry", delayMs: 0, payload },
        { kind: "snooze", delayMs: 5, payload },
        { kind: "retry", delayMs: 60_000, payload },
      ] as const;
      return { token, ...kinds[(i + round) % kinds.length]! };
    });
    // The next jobs are taken while these are settled, so that the process holds leases at every moment.
    await Promise.all([store.jobs.settle(worker, outcomes.slice(0, 20)), store.jobs.promote(20)]);
    say(`${round}`);
  }
}

async function some(store: ServerStore): Promise<void> {
  for (let n = FIRST; n < FIRST + 25; n++) await store.jobs.enqueue([job(n)]);
}

async function fill(store: Store): Promise<void> {
  const large = (n: number) => job(n, { payload: `{"class":"A","args":["${"x".repeat(20_000)}"],"jid":"${n}"}` });
  let stored = 0;
  const pushOn = async (most: number): Promise<string> => {
    try {
      for (let i = 0; i < most; i++, stored++) await store.jobs.enqueue([large(FIRST + stored)]);
      return "stored";
    } catch (error) {
      return error instanceof StoreError ? error.code : String(error);
    }
  };
  say(await pushOn(10_000));
  for await (const _line of Deno.stdin.readable) {
    say(`${await pushOn(3)} ${stored} ${(await store.admin.stats()).enqueued}`);
  }
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

await using store = await openStore(url);
switch (what) {
  case "push":
    await push(store);
    break;
  case "work":
    await work(store);
    break;
  case "some":
    await some(store);
    break;
  case "fill":
    await fill(store);
    break;
}
