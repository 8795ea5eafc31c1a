import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/clock.ts";
import type { Runner } from "./engine.ts";
import { Floors } from "./floors.ts";
import { Watch } from "./watch.ts";

/** A watch whose calls are answered by the test, and that hears nothing. */
function lab() {
  const clock = new FakeClock();
  const calls: { readonly name: string; readonly answer: (found: readonly string[]) => void }[] = [];
  const call = (name: string) =>
    new Promise<Record<string, string>[]>((resolve) =>
      calls.push({ name, answer: (found) => resolve(found.map((topic) => ({ [name]: topic }))) })
    );
  const listening = { ready: new Promise<void>(() => {}), stop: () => Promise.resolve() };
  const client = { clock, listen: () => listening, run: () => Promise.resolve([]) };
  const runner = { call, client, schema: "jobs" } as unknown as Runner;
  const known = { due: () => undefined, cron: () => 0, floors: new Floors(() => 0) };
  return { calls, clock, watch: new Watch(runner, known, () => {}) };
}

const settled = () => new Promise<void>((resolve) => setTimeout(resolve));

Deno.test("a wait that begins while the poll for the wait before it ends is polled, too", async () => {
  // The replies of two calls may arrive together: the second one at each point of what follows from the first.
  for (let hops = 0; hops < 40; hops++) {
    const { calls, clock, watch } = lab();
    const { signal } = new AbortController();
    const first = new AbortController();
    const ended = watch.until({ result: "a" }, first.signal);
    calls.shift()!.answer([]);
    await settled();
    const poll = calls.shift()!;
    assertEquals(poll.name, "wait_for");
    first.abort();
    await ended;
    const other = watch.until({ result: "b" }, signal);
    const look = calls.shift()!;
    poll.answer([]);
    for (let i = 0; i < hops; i++) await Promise.resolve();
    look.answer([]);
    await settled();
    await clock.advance(1_000);
    await settled();
    assertEquals(calls.shift()?.name, "wait_for", `after ${hops} turns`);
    const closed = watch.close();
    for (const { answer } of calls) answer([]);
    await Promise.race([closed, settled()]);
    await other;
  }
});
