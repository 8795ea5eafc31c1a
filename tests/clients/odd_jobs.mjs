// A worker for odd_jobs_test.ts. Its only processor performs the next job if the one before has ended.
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { work } from "../../clients/node/jobs_client.mjs";

/** Returns an error whose members throw. */
function hostile() {
  const get = () => {
    throw new Error("no member");
  };
  return Object.defineProperties(new Error(), { name: { get }, message: { get }, cause: { get } });
}

function fail(error) {
  throw error;
}

const handlers = {
  Echo: (_, value) => value,
  "throws an object that has no text": () => fail(Object.create(null)),
  "throws an error whose members throw": () => fail(hostile()),
  "throws an error whose cause throws": () => fail(new Error("outer", { cause: hostile() })),
  "throws in a step what has no text": (ctx) => ctx.step("one", () => fail(Object.create(null))),
  "reports a long note": async (ctx) => {
    ctx.progress(1, "n".repeat(5_000_000));
    // A heartbeat reports it.
    await sleep(1_500);
  },
};
handlers["removes the listeners of its worker"] = async () => {
  for (const name of ["SIGTERM", "SIGINT", "SIGTTIN"]) process.removeAllListeners(name);
  // The next heartbeat.
  await sleep(1_500);
  return "removed";
};
for (const handler of Object.values(handlers)) handler.options = { retry: 0, result_ttl: "1h" };

/** Returns an error of another library. */
const foreign = (name) => Object.assign(new Error("foreign"), { name, delay: 1, delayMs: 1 });
const again = (handler) => Object.assign(handler, { options: { retry: 1, backoff: { type: "fixed", base: 0.05 } } });
for (
  const name of ["Discard", "Kill", "Snooze", "Cancelled", "StepFailed", "ChildFailed", "Released", "AbortError"]
) {
  handlers[`fails by a foreign ${name}`] = again(() => fail(foreign(name)));
}
handlers["fails by a foreign StepFailed in a step"] = again((ctx) =>
  ctx.step("one", () => fail(foreign("StepFailed")))
);
handlers["has a step that has failed for good"] = again((ctx) =>
  ctx.step("one", () => fail(new Error("broken")), { retry: 0 })
);
const logAndFail = (ctx) => {
  ctx.log.debug("not printed");
  ctx.log.info("importing", { file: "a.csv", ts: "x", level: "x", message: "x" });
  fail(new Error("intended"));
};
handlers["logs and fails"] = Object.assign((ctx) => logAndFail(ctx), { options: { retry: 1 } });
handlers["logs and fails, hushed"] = Object.assign((ctx) => logAndFail(ctx), {
  options: { retry: 0, log_level: "error" },
});
await work({ url: process.argv[2], token: process.env.TOKEN, handlers, concurrency: 1 });
