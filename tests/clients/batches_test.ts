/** The clients' batches, cancels and signals against a real worker, on both stores, and over a line that loses replies. */
import { assert, assertEquals } from "@std/assert";
import { newToken } from "../../src/web/auth/accounts.ts";
import { Bench } from "../support/bench.ts";
import { HttpLine } from "../support/http_line.ts";
import { startRedis } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

const HANDLERS = `
import { appendFileSync } from "node:fs";
export const Empty = () => {};
export const Tell = (_ctx, file, line) => appendFileSync(file, line + "\\n");
export const Approve = async (ctx, key) => await ctx.waitFor("signal", { key, timeout: "1h" });
Approve.options = { result_ttl: "1h" };
`;

const EXPECTED = {
  thrown: "RangeError",
  limited: ["forbidden", "A token that is limited to classes or queues has no batches: expected one without limits"],
  cancelled: [true, true, false],
  forbidden: "forbidden",
  signalled: { by: "ann" },
  kept: null,
  unkept: "not_found",
};

const DRIVERS = [["node", "batches.mjs"], ["python3", "batches.py"], ["ruby", "batches.rb"]] as const;

Deno.test("the Node client refuses a job that is added without await while its batch is closed", async () => {
  requireTool("node");
  const { stdout } = await new Deno.Command("node", {
    args: [new URL("late_add.mjs", import.meta.url).pathname],
  }).output();
  assertEquals(JSON.parse(new TextDecoder().decode(stdout)), [
    `Can't add to batch "b": it is closed; await what adds to it`,
    "First",
  ]);
});

for (const kind of ["sqlite", "redis"] as const) {
  for (const [runtime, driver] of DRIVERS) {
    Deno.test(`${driver} fills batches, cancels jobs and sends signals, on ${kind}`, async () => {
      requireTool(runtime);
      await using redis = kind === "redis" ? await startRedis() : undefined;
      await using bench = await Bench.open(redis?.url);
      const module = `${bench.folder}/handlers.js`;
      await Deno.writeTextFile(module, HANDLERS);
      const roles = { PUSH: "push", WORK: "work", LIMITED: "push(class=Empty)", OPERATOR: "operator" };
      const users = Object.entries(roles).map(([name, role]) => ({ name, role, ...newToken() }));
      await using worker = await bench.server([module, "--web", "0"], {
        JOBS_WEB_USERS: users.map(({ name, role, secret }) => `${name}:${role}:${secret}`).join(","),
      });
      const url = String((await worker.logged("Ready"))["web"]).replace(/\/$/, "");
      await using flaky = await HttpLine.start(() => url);
      for (const path of ["batches", "jobs", "close"]) flaky.spoil(path, "cut after");
      const { success, stdout, stderr } = await new Deno.Command(runtime, {
        args: [new URL(driver, import.meta.url).pathname, url, flaky.url, bench.notes],
        env: Object.fromEntries(users.map(({ name, token }) => [name, token])),
      }).output();
      const errors = new TextDecoder().decode(stderr);
      assert(success, errors);
      const { batches, ids, refused, misspelt, empty = "TypeError", ...found } = JSON.parse(
        new TextDecoder().decode(stdout),
      );
      assertEquals(found, EXPECTED, errors);
      assertEquals(empty, "TypeError");
      for (const [added, duplicates] of batches) assertEquals([added >= 1_202, added + duplicates], [true, 1_204]);
      assertEquals(refused[0], "invalid");
      assert(/^Job not added to batch "\w+": retry is -1; expected [^\n]*$/.test(refused[1]), refused[1]);
      assertEquals(misspelt[0], "invalid");
      assert(misspelt[1].includes("succes") && !misspelt[1].includes("\n"), misspelt[1]);
      const lines = async () =>
        (await Deno.readTextFile(bench.notes).catch(() => "")).split("\n").filter(Boolean).sort();
      // The batches whose filling failed are abandoned. No batch was opened twice.
      await bench.until(async () => (await lines()).length === 5, "five callbacks follow");
      assertEquals(await lines(), ["abandoned", "abandoned", "complete", "complete", "complete"]);
      const all = (await bench.store.batches.read({ limit: 25 })).batches;
      assertEquals(all.length, 5);
      for (const id of ids) {
        const { total, pending, closedAt } = all.find((batch) => batch.id === id)!;
        assert(total >= 1_202, `${total}`);
        assertEquals([pending, closedAt !== undefined], [0, true]);
      }
    });
  }
}
