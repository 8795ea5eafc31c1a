// Uses a wrong token: prints the errors of pushes, and of a worker, as JSON lines for tests/clients/refusals_test.ts.
import process from "node:process";
import { JobsClient, work } from "../../clients/node/jobs_client.mjs";

const [role, url] = process.argv.slice(2);
const errorOf = (promise) => promise.then(() => null, ({ code, status, message }) => ({ code, status, message }));
if (role === "push") {
  // The wait before the next attempt doubles.
  for (let i = 0; i < 20; i++) {
    const error = await errorOf(new JobsClient({ url, token: "wrong" }).push("Mail"));
    console.log(JSON.stringify(error));
    if (error?.status === 429) break;
  }
}
console.log(JSON.stringify(await errorOf(work({ url, token: "wrong", handlers: { Mail: () => {} }, signals: false }))));
