/** Streams of jobs, as programs write them and pages read them: `ctx.stream`, `jobs step stream`, server-sent events, `jobs stream`. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { jobs } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

const STEP = jobsCommand().map((part) => `'${part}'`).join(" ") + " step";

const MODULE = `
const waits = new Map();
async function tell(ctx, count) {
  for (let i = 1; i <= count; i++) await ctx.stream("line " + i);
  if (ctx.attempt === 1) throw new Error("again");
  return "told";
}
export const Inline = Object.assign((ctx, count) => tell(ctx, count), { options: { retryIn: () => 0.01, result_ttl: "1h" } });
export const Isolated = Object.assign((ctx, count) => tell(ctx, count), {
  options: { retryIn: () => 0.01, result_ttl: "1h", isolate: true },
});
export async function Open(ctx) {
  await ctx.stream({ part: 1 });
  await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
  throw ctx.signal.reason;
}
`;

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a page follows the stream of a job, is cut off, and continues after its last chunk, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await Deno.writeTextFile(`${bench.folder}/streams.js`, MODULE);
    await Deno.writeTextFile(
      `${bench.folder}/told.sh`,
      `printf 'one\\ntwo\\n' | ${STEP} stream\n${STEP} stream three\n`,
    );
    await Deno.writeTextFile(
      `${bench.folder}/jobs.json`,
      JSON.stringify({ exec: [{ class: "Program", exec: ["sh", `${bench.folder}/told.sh`], result_ttl: "1h" }] }),
    );
    const args = [`${bench.folder}/streams.js`, "--config", `${bench.folder}/jobs.json`, "--web", "0"];
    await using server = await bench.server(args);
    const web = String((await server.logged("Ready")).web);
    const address = (jid: string) => new URL(`/api/v1/jobs/${jid}/stream`, web);
    /** Reads events until one contains the text. */
    const readUntil = async (jid: string, text: string, headers: HeadersInit = {}) => {
      const response = await fetch(address(jid), { headers });
      let all = "";
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
        if ((all += part).includes(text)) break;
      }
      return all;
    };

    const open = await bench.push("Open", []);
    assertMatch(await readUntil(open, "part"), /id: 1\ndata: \{"number":1,"run":1,"attempt":1,"chunk":\{"part":1\}\}/);
    const rest = readUntil(open, "event: end", { "last-event-id": "1" });
    await jobs(["cancel", open, "--store", bench.url]);
    assertStringIncludes(await rest, 'event: end\ndata: {"state":"cancelled"}');

    for (const name of ["Inline", "Isolated"]) {
      const jid = await bench.push(name, [2]);
      assertEquals((await bench.client.result(jid))?.result, "told");
      const { stdout } = await jobs(["stream", jid, "--json", "--store", bench.url]);
      assertEquals(stdout.trim().split("\n").map((line) => JSON.parse(line)), [
        { number: 1, run: 1, attempt: 1, chunk: "line 1" },
        { number: 2, run: 1, attempt: 1, chunk: "line 2" },
        { number: 3, run: 2, attempt: 2, chunk: "line 1" },
        { number: 4, run: 2, attempt: 2, chunk: "line 2" },
      ]);
    }

    const program = await bench.push("Program", []);
    await bench.client.result(program);
    const { stdout } = await jobs(["stream", program, "--store", bench.url]);
    assertEquals(stdout.replaceAll("\n", " ").trim().split(/\s+/), ["one", "two", "three"]);
    const refused = await fetch(`${address(open)}?after=x`);
    assertEquals([refused.status, (await refused.json()).error.field], [422, "after"]);
  });
}

Deno.test("a program that streams a long text splits no character", async () => {
  await using bench = await Bench.open();
  const text = "\u{1F600}".repeat(8_000);
  await Deno.writeTextFile(`${bench.folder}/text`, text);
  const exec = ["sh", "-c", `${STEP} stream "$(cat ${bench.folder}/text)"`];
  await using _worker = await bench.server([], {
    JOBS_EXEC: JSON.stringify([{ class: "Program", exec, result_ttl: "1h" }]),
  });
  const jid = await bench.push("Program", []);
  assertEquals((await bench.client.result(jid))?.state, "succeeded");
  const { stdout } = await jobs(["stream", jid, "--json", "--store", bench.url]);
  const chunks = stdout.trim().split("\n").map((line) => JSON.parse(line).chunk as string);
  assertEquals(chunks.map((chunk) => chunk.isWellFormed()), [true, true]);
  assertEquals(chunks.join(""), text);
});
