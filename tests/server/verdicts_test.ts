/** How a job ends is decided by who raised its error: this library's own objects, or an abort. Never by a name that other code may choose. */
import { assertEquals } from "@std/assert";
import { Cancelled, LeaseLost, Registry, Shutdown, startServer, Timeout } from "../../src/mod.ts";
import type { JobContext } from "../../src/handlers/context.ts";
import { openStore } from "../../src/store/open.ts";
import { until } from "../support/eventually.ts";

/** The names of errors that this library gives a meaning. */
const RESERVED = [
  ...["Discard", "Kill", "Snooze", "Cancelled", "Shutdown", "Timeout", "LeaseLost", "WorkerDied", "HandlerMissing"],
  ...["StepFailed", "ChildFailed", "Released", "Unperformable", "Expired", "AttemptEnded", "AbortError"],
];

/** Throws an error of another library with this name. */
function foreign(name: string): never {
  throw Object.assign(new Error("foreign"), { name, delayMs: 1 });
}

Deno.test("an error of another library is a failure, whatever its name: inline and in a step; so is our reason of an abort without an abort", async () => {
  const url = "sqlite::memory:verdicts";
  await using store = await openStore(url);
  const reasons = {
    Cancelled: new Cancelled(),
    LeaseLost: new LeaseLost(),
    Shutdown: new Shutdown(),
    Timeout: new Timeout(5),
  };
  const registry = new Registry()
    .add("Inline", (_ctx: JobContext, name: string) => foreign(name), { retry: 5 })
    .add("Step", (ctx: JobContext, name: string) => ctx.step("one", () => foreign(name)), { retry: 5 })
    .add("Reason", (_ctx: JobContext, name: keyof typeof reasons) => {
      throw reasons[name];
    }, { retry: 5 });
  await using worker = await startServer({
    ...{ store: url, registry, log: false },
    settings: { concurrency: 4, shutdownTimeout: "10s" },
  });
  const pushed = new Map<string, readonly [name: string, kind: string]>();
  const push = async (kind: string, name: string) =>
    void pushed.set((await worker.client.push({ class: kind, args: [name] }))!, [name, kind]);
  for (const kind of ["Inline", "Step"]) for (const name of RESERVED) await push(kind, name);
  for (const name of Object.keys(reasons)) await push("Reason", name);
  await until(async () => {
    const stats = await store.admin.stats();
    return stats.queues.every(({ size }) => size === 0) && stats.running === 0;
  }, "all have run");
  const entries = await store.jobs.find([...pushed.keys()]);
  const found = entries.map(({ place, payload }) => {
    const { jid, args: [name], class: kind, error_class, retry_count } = JSON.parse(payload);
    return [kind, name, place.in, error_class, retry_count, pushed.delete(jid)];
  });
  for (const [kind, name, ...rest] of found) {
    assertEquals([kind, name, ...rest], [kind, name, "retry", name, 0, true]);
  }
  assertEquals([...pushed.values()], []);
});
