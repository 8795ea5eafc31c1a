// Calls the client once for each case, and prints the results: one JSON object for tests/clients/replies_test.ts.
import { JobsClient, JobsError } from "../../clients/node/jobs_client.mjs";

const [server, cases] = process.argv.slice(2);
const out = {};
for (const url of ["", undefined, "jobs.example.com", "file:///etc/passwd"]) {
  try {
    new JobsClient({ url });
    throw new Error(`accepts ${url}`);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
await Promise.all(
  JSON.parse(cases).map(async ({ name, call }) => {
    const jobs = new JobsClient({
      url: `${server}/${name}`,
      token: "secret",
      timeoutMs: name === "dripping" ? 300 : 30_000,
    });
    try {
      if (call === "push") out[name] = (await jobs.push("A", [1])).jid;
      else if (call === "aborted") {
        // Aborts once the client has read the reply, and pauses.
        const [abort, reason] = [new AbortController(), new Error("aborted")];
        const answer = async (...request) => {
          const { status, statusText, headers, ok } = await fetch(...request);
          const text = () => Promise.resolve(setTimeout(() => abort.abort(reason), 0)).then(() => "");
          return { status, statusText, headers, ok, text };
        };
        const waiting = new JobsClient({ url: `${server}/${name}`, fetch: answer });
        out[name] = await waiting.result("j1", { timeoutMs: 90_000, signal: abort.signal }).catch((error) =>
          error === reason
        );
      } else if (call === "result") out[name] = await jobs.result("j1", { timeoutMs: 30_000 });
      else {
        out[name] = [];
        for await (const result of jobs.pushMany([{ class: "A" }, { class: "B" }])) out[name].push(result);
      }
      out[name] = { result: out[name], message: null };
    } catch (error) {
      const isOurs = error instanceof JobsError;
      out[name] = { result: isOurs ? [error.code, error.status ?? null] : String(error.stack), message: error.message };
    }
  }),
);
console.log(JSON.stringify(out));
