// Adds to a batch while its last jobs are stored, without awaiting that, for batches_test.ts.
import { JobsClient } from "../../clients/node/jobs_client.mjs";

let addLate;
let late;
const pushed = [];
/** A server that stores everything. */
function fetch(url, { body }) {
  const path = new URL(url).pathname;
  if (path.endsWith("/batches")) return Response.json({ id: "b" });
  if (!path.endsWith("/jobs")) return Response.json({});
  const jobs = JSON.parse(body);
  pushed.push(...jobs.map(({ class: name }) => name));
  late ??= addLate().then(() => "added", ({ message }) => message);
  return Response.json({ results: jobs.map(() => ({ jid: "j" })) });
}

await new JobsClient({ url: "http://127.0.0.1", fetch }).batch({}, async (add) => {
  addLate = () => add("Late");
  await add("First");
});
console.log(JSON.stringify([await late, ...pushed]));
