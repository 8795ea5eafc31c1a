// The worker of tests/clients/step_misuse_test.ts in Node: returns what misuse of a step throws, as the result of the job.
import process from "node:process";
import { StepError, work } from "../../clients/node/jobs_client.mjs";

async function errorOf(run) {
  try {
    await run();
    return "none";
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    return error.message;
  }
}

async function Misuse(ctx) {
  return {
    twice: await errorOf(async () => {
      for (let i = 0; i < 2; i++) await ctx.step("a", () => 1);
    }),
    option: await errorOf(() => ctx.step("b", () => 1, { retries: 3 })),
    missing: await errorOf(() => ctx.step("c")),
    result: await errorOf(() => ctx.step("d", () => ({ amount: NaN }))),
    wait: await errorOf(() => ctx.waitFor("e", { key: "k", timeout: "1h", keep_for: "1d" })),
    list: await errorOf(() => ctx.run("f", "Mail", "abc")),
    argument: await errorOf(() => ctx.run("f", "Mail", [NaN])),
    child: await errorOf(() => ctx.run("f", "Mail", [], { retrys: 3 })),
    patience: await errorOf(() => ctx.run("f", "Mail", [], { give_up_after: "1h" })),
    field: await errorOf(() => ctx.run("f", "Mail", [], { tenant: "acme" })),
    duration: await errorOf(() => ctx.sleep("g", NaN)),
  };
}
Misuse.options = { retry: 0, result_ttl: "1h" };

const Odd = () => ({ amount: NaN });
Odd.options = { retry: 0, failure_ttl: "1h" };

await work({ url: process.argv[2], token: process.env.TOKEN, handlers: { Misuse, Odd } });
