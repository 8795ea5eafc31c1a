// Prints the events of a class, for events_test.ts.
import { JobsClient } from "../../clients/node/jobs_client.mjs";

const jobs = new JobsClient({ url: process.argv[2], token: process.env.TOKEN });
const [, , , count] = process.argv;
let left = Number(count);
for await (const { id, type, jid } of jobs.events({ after: 0, class: "Mail*", type: ["cancelled", "dead"] })) {
  console.error(JSON.stringify({ id, type, jid }));
  if (--left === 0) break;
}
