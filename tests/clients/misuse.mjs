// Prints the errors of misuse: JSON for tests/clients/misuse_test.ts.
import process from "node:process";
import { inspect } from "node:util";
import { JobsClient, work } from "../../clients/node/jobs_client.mjs";

const url = "http://127.0.0.1:1";
const handlers = { Try: () => {} };
const messageOf = (run) => Promise.resolve().then(run).then(() => "none", ({ name, message }) => `${name}: ${message}`);
const withToken = new JobsClient({ url, token: "tok-3n" });
console.log(JSON.stringify({
  pushed: (await new JobsClient({ url: process.argv[2], retries: 0 }).push("A")).jid,
  urls: [
    await messageOf(() => new JobsClient({ url: "http://ann:pw@127.0.0.1:1" })),
    await messageOf(() => work({ url: ["http://127.0.0.1:1", "http://pw@127.0.0.1:1/x"], handlers })),
    await messageOf(() => new JobsClient({ url: "ftp://ann:p@w@127.0.0.1:1" })),
  ],
  shown: [inspect(withToken, { depth: 9, showHidden: true }), String(withToken)],
  token: [
    await messageOf(() => new JobsClient({ url, token: "sec\nret" })),
    await messageOf(() => work({ url, token: "sec\nret", handlers })),
    await messageOf(() => new JobsClient({ url, token: "secret\n" })),
  ],
}));
