// Prints the errors of misuse: JSON for tests/clients/misuse_test.ts.
import { JobsClient, work } from "../../clients/node/jobs_client.mjs";

const url = "http://127.0.0.1:1";
const handlers = { Try: () => {} };
const messageOf = (run) => Promise.resolve().then(run).then(() => "none", ({ name, message }) => `${name}: ${message}`);
console.log(JSON.stringify({
  token: [
    await messageOf(() => new JobsClient({ url, token: "sec\nret" })),
    await messageOf(() => work({ url, token: "sec\nret", handlers })),
    await messageOf(() => new JobsClient({ url, token: "secret\n" })),
  ],
}));
