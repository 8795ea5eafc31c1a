import { assertEquals } from "@std/assert";
import { systemClock } from "../clock.ts";
import type { JobContext } from "../handlers/context.ts";
import { Offers } from "./offers.ts";
import { RemoteJob } from "./remote_job.ts";

Deno.test("a request for jobs that is overtaken by the next one gets none of the jobs that are left", async () => {
  const given: [string, number][] = [];
  const onTaken = (jobs: readonly RemoteJob[], take: number) => {
    for (const { token } of jobs) given.push([token, take]);
  };
  const offers = new Offers({ clock: systemClock, fetch: () => {}, taken: 0, onTaken });
  const { signal } = new AbortController();
  const closing = new AbortController();
  const overtaken = offers.take(1, 1, 30_000, closing.signal);
  for (const token of ["a", "b"]) offers.add(new RemoteJob({} as JobContext, token, 0));
  closing.abort();
  const next = offers.take(2, 1, 30_000, signal);
  const tokens = (jobs: readonly RemoteJob[]) => jobs.map(({ token }) => token);
  assertEquals([await overtaken, await next].map(tokens), [[], ["a"]]);
  assertEquals(offers.isAway, false);
  assertEquals(tokens(await offers.take(3, 1, 30_000, signal)), ["b"]);
  assertEquals(given, [["a", 2], ["b", 3]]);
});

Deno.test("a request for jobs that waits while the next one is answered gets no jobs", async () => {
  const offers = new Offers({ clock: systemClock, fetch: () => {}, taken: 0, onTaken: () => {} });
  const { signal } = new AbortController();
  const overtaken = offers.take(1, 1, 30_000, signal);
  for (const token of ["a", "b"]) offers.add(new RemoteJob({} as JobContext, token, 0));
  const next = offers.take(2, 1, 30_000, signal);
  assertEquals([(await overtaken).length, (await next).length], [0, 1]);
});
