// Passes values that JSON can't hold, and prints the errors: JSON for tests/clients/values_test.ts.
import process from "node:process";
import { JobsClient, Snooze, work } from "../../clients/node/jobs_client.mjs";
import { FakeJobs } from "../../clients/node/testing.mjs";

const url = process.argv[2];
const jobs = new JobsClient({ url, retries: 0 });
const out = {};
const refused = async (name, run) => {
  out[name] = await Promise.resolve().then(run).then(() => "none", ({ name, message }) => `${name}: ${message}`);
};
class Account {}
const circular = {};
circular.self = circular;
let deep = [];
for (let i = 0; i < 200; i++) deep = [deep];
const values = {
  "not a number": [{ amount: NaN }],
  infinity: [1, [-Infinity]],
  set: [new Set([1])],
  map: [new Map()],
  date: [{ "due on": new Date(Date.UTC(2026, 10, 28)) }],
  bytes: [new Uint8Array(3)],
  "large integer": [5n],
  undefined: [{ name: undefined }],
  object: [new Account()],
  promise: [Promise.resolve(1)],
  "half a character": ["\ud800"],
  circular: [circular],
  deep: [deep],
};
for (const [name, args] of Object.entries(values)) await refused(name, () => jobs.push("Mail", args));
await refused("text for a list", () => jobs.push("Mail", "abc"));
await refused("null for a list", () => jobs.push("Mail", null));
await refused("field", () => jobs.push("Mail", [], { fields: { rate: NaN } }));
await refused("option", () => jobs.push("Mail", [], { timeout: NaN }));
const good = { class: "Mail", args: [1] };
await refused("one of many", async () => {
  for await (const _ of jobs.pushMany([good, good, { class: "Mail", args: [NaN] }]));
});
await refused("no job", async () => {
  for await (const _ of jobs.pushMany(["Mail"]));
});
await refused("signal", () => jobs.signal("key", { by: NaN }));
await refused("batch", () => jobs.batch({ success: { class: "Mail", args: [NaN] } }, () => {}));
await refused("member", () => new FakeJobs().client.batch({}, (add) => add("Mail", [NaN])));
const Report = () => {};
Report.options = { timeout: NaN };
await refused("class option", () => work({ url, handlers: { Report }, signals: false, log: () => {} }));
const Odd = async (ctx, how) => {
  if (how === "chunk") await ctx.stream(NaN);
  if (how === "snooze") throw new Snooze(NaN);
  return { amount: NaN };
};
for (const how of ["chunk", "snooze"]) {
  const { error } = await new FakeJobs({ Odd }).perform("Odd", [how]);
  out[how] = `${error?.class}: ${error?.message}`;
}
await jobs.push("Valid", [[1, 2], { a: [null, true, "ü😀", -1.5] }, "last"], { queue: undefined });
console.log(JSON.stringify({ refused: out }));
