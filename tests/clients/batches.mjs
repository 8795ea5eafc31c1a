// Batches, cancels and signals by the client: prints one JSON object for tests/clients/batches_test.ts.
import process from "node:process";
import { JobsClient, JobsError } from "../../clients/node/jobs_client.mjs";

const [url, flaky, notes] = process.argv.slice(2);
const clientOf = (name, address = url) => new JobsClient({ url: address, token: process.env[name] });
const out = {};
const codeOf = (promise) =>
  promise.then(() => "none", (error) => error instanceof JobsError ? [error.code, error.message] : error.name);

const complete = { class: "Tell", args: [notes, "complete"] };
for (const [name, address] of [["PUSH", url], ["WORK", url], ["PUSH", flaky]]) {
  const { id, added, duplicates } = await clientOf(name, address).batch({
    name: "import",
    complete,
    closeWithin: "1h",
    keepFor: "2h",
  }, async (add) => {
    for (let i = 0; i < 1_200; i++) await add("Empty", [i]);
    await add("Empty", [name, address], { throttle: "1/1h", throttle_key: `${name} ${address}` });
    await add("Empty", [name, address], { throttle: "1/1h", throttle_key: `${name} ${address}` });
    await add("Empty", [name, address], { unique_for: "1h" });
    await add("Empty", [name, address], { unique_for: "1h" });
  });
  (out.batches ??= []).push([added, duplicates]);
  (out.ids ??= []).push(id);
}
const abandoned = { class: "Tell", args: [notes, "abandoned"] };
out.thrown = await codeOf(
  clientOf("PUSH").batch({ complete, abandoned }, () => {
    throw new RangeError("stop");
  }),
);
const push = clientOf("PUSH");
out.refused = await codeOf(push.batch({ complete, abandoned }, (add) => add("Empty", [], { retry: -1 })));
out.limited = await codeOf(clientOf("LIMITED").batch({}, (add) => add("Empty")));
out.misspelt = await codeOf(push.batch({ succes: complete }, () => {}));
out.empty = await codeOf(push.batch({}));

const operator = clientOf("OPERATOR");
const { jid } = await push.push("Empty", [], { in: "1h" });
out.cancelled = [await operator.cancel(jid), await operator.cancel(jid), await operator.cancel("none")];
out.forbidden = (await codeOf(push.cancel(jid)))[0];
const { jid: waiting } = await push.push("Approve", ["order-1"]);
await operator.signal("order-1", { by: "ann" });
out.signalled = (await operator.result(waiting, { timeoutMs: 30_000 })).result;
out.kept = (await operator.signal("order-2", { keepFor: "1h" })).reached ?? null;
out.unkept = (await codeOf(operator.signal("order 3/ü", null, { keep: false })))[0];
console.log(JSON.stringify(out));
