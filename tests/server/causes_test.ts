/** The causes of a failure are shown with it: in the job, its record, the log and `jobs show`. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";

const HANDLERS = `
export function Fetch() {
  const refused = new AggregateError([new Error("connect ECONNREFUSED ::1"), new Error("connect ECONNREFUSED 127.0.0.1")]);
  throw new Error("No receipt", { cause: new TypeError("fetch failed", { cause: refused }) });
}
Fetch.options = { retry: 0 };
export const Apart = Object.assign((ctx) => Fetch(ctx), { options: { retry: 0, isolate: true } });
`;

const CAUSES = [
  "caused by TypeError: fetch failed",
  "caused by AggregateError: ",
  "1 of 2: Error: connect ECONNREFUSED ::1",
  "2 of 2: Error: connect ECONNREFUSED 127.0.0.1",
];

Deno.test("the causes of a failure are in the job, its record, the log and jobs show, also for an isolated job", async () => {
  await using bench = await Bench.open();
  const module = `${bench.folder}/module.js`;
  await Deno.writeTextFile(module, HANDLERS);
  const worker = await bench.server([module]);
  await using _worker = worker;
  for (const name of ["Fetch", "Apart"]) {
    const jid = await bench.push(name, []);
    const ended = await bench.client.result(jid);
    assertEquals(ended?.error?.causes, CAUSES, name);
    const [entry] = await bench.store.jobs.find([jid]);
    assertEquals(JSON.parse(entry!.payload).error_causes, CAUSES);
    assertEquals(JSON.parse(entry!.payload).errors[0].causes, CAUSES.slice(0, 3));
    const line = await worker.logged("Failed for good, moved to dead", { jid });
    assertEquals(line["causes"], CAUSES);
    const shown = await jobs(["show", jid, "--store", bench.url]);
    for (const cause of CAUSES) assertStringIncludes(shown.stdout, cause.trimEnd());
  }
});
