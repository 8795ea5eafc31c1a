import { assertEquals } from "@std/assert";
import type { NewJob } from "../store/port/jobs.ts";
import { buildChild } from "./call.ts";

Deno.test("the options of one call take precedence over those of the child's class", async () => {
  const requests: unknown[] = [];
  const build = (request: unknown) => (requests.push(request), Promise.resolve({ jid: "c" } as NewJob));
  const parent = { jid: "p", step: "mail" };
  const child = { class: "Mail", options: { queue: "low", timeout: "1m" } };
  await buildChild(build, parent, child, { args: [1], queue: "high" } as { args: readonly unknown[] });
  await buildChild(build, parent, "Mail", { args: [2] });
  assertEquals(requests, [
    { class: "Mail", args: [1], queue: "high", timeout: "1m", parent },
    { class: "Mail", args: [2], parent },
  ]);
});
