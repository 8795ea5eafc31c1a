// Prints the errors of misspelt options: JSON for tests/clients/misspelt_test.ts.
import { JobsClient, work } from "../../clients/node/jobs_client.mjs";

const url = "http://127.0.0.1:1";
const handlers = { Try: () => {} };
const messageOf = (run) => Promise.resolve().then(run).then(() => "none", ({ name, message }) => `${name}: ${message}`);
console.log(JSON.stringify([
  await messageOf(() => work({ url, handlers, concurency: 5 })),
  await messageOf(() => work({ url, handlers, colour: "red" })),
  await messageOf(() => work({ url, handler: handlers })),
  await messageOf(() => new JobsClient({ url, tokn: "x" })),
  await messageOf(() => work({ url })),
]));
