// The conformance run of every client of the HTTP API: prints one JSON object for tests/clients/conformance_test.ts.
import { JobsClient, JobsError } from "../../clients/node/jobs_client.mjs";

const [url, flaky, dead] = process.argv.slice(2);
const token = process.env.TOKEN;
const jobs = new JobsClient({ url, token });
const out = {};
const warned = [];
process.on("warning", ({ name, message }) => name === "JobsWarning" && warned.push(message.split('"')[1]));
const codeOf = async (run) => {
  try {
    await run();
    return "none";
  } catch (error) {
    return error instanceof JobsError ? [error.code, error.status ?? null, error.field ?? null] : String(error);
  }
};

const { jid } = await jobs.push("Add", [2, 3], { queue: "default", tags: ["a"], fields: { tenant: "acme" } });
const ended = await jobs.result(jid, { timeoutMs: 30_000 });
out.result = [ended.state, ended.result, ended.payload.tenant, typeof ended.endedAt];
const first = await jobs.push("Add", [1, 1], { id: "order-7", in: "1h" });
const again = await jobs.push("Add", [1, 1], { id: "order-7", in: "1h" });
out.idempotent = [first.existed, again.existed, first.jid === again.jid];
out.pending = (await jobs.result(first.jid, { timeoutMs: 50 })) ?? null;
await jobs.push("Later", [], { at: new Date("2099-01-02T03:04:05Z"), queue: "default" });
await jobs.push("Sync", [1], { unique_for: "1h", in: "1h" });
out.unique = await codeOf(() => jobs.push("Sync", [1], { unique_for: "1h", in: "1h" }));
out.invalid = await codeOf(() => jobs.push("Add", [], { retry: -1 }));
out.unknown = await codeOf(() => jobs.push("Add", [], { retrys: 3 }));
async function* rows() {
  for (let i = 0; i < 2_500; i++) yield { class: "Bulk", args: [i], queue: "bulk", ...(i === 7 && { retry: "no" }) };
}
let stored = 0;
const refused = [];
let place = 0;
for await (const result of jobs.pushMany(rows())) {
  if (result.jid !== undefined) stored++;
  else refused.push(place);
  place++;
}
out.bulk = [stored, refused];
const behind = new JobsClient({ url: flaky, token });
out.lost = (await behind.push("Lost", [1], { queue: "lost" })).existed;
out.unreachable = await codeOf(() => new JobsClient({ url: dead, token, retries: 1 }).push("A"));
out.large = await codeOf(() => jobs.push("Add", ["a".repeat(20_000_000)]));
out.forbidden = await codeOf(() => new JobsClient({ url, token: "wrong" }).push("A"));
// Node emits warnings in the next turn.
await new Promise((resolve) => setImmediate(resolve));
out.warned = warned.sort();
console.log(JSON.stringify(out));
