/** Names and texts from other programs never reach the terminal raw: neither on stdout nor on stderr. */
import { assertEquals } from "@std/assert";
import { CONTROLS } from "../../src/log/control_characters.ts";
import { workerRecord } from "../store_contract/jobs.ts";
import { Bench } from "../support/bench.ts";
import { jobs } from "../support/process.ts";

/** A title of the terminal, a return to the start of the line, a reversed text, and an eight-bit CSI. */
const NAME = "a\x1b]0;x\x07\rb\u202ec\u009b31m";

/** Each prints the name, on stdout or stderr. A last word of `json` also tries `--json`. */
const COMMANDS: readonly (readonly string[])[] = [
  ["queues"],
  ["list", "queued", "json"],
  ["list", "dead"],
  ["list", "groups", NAME],
  ["find", "x"],
  ["errors"],
  ["show", "j1", "json"],
  ["show", "j2"],
  ["show", NAME],
  ["stats"],
  ["top"],
  ["doctor"],
  ["limit", NAME, "--running", "3"],
  ["limit", NAME],
  ["pause", `${NAME}2`],
  ["pause", NAME],
  ["workers", "json"],
  ["resume", `${NAME}3`],
  ["resume"],
  ["pause", NAME, "--group", NAME],
  ["resume", NAME, "--group", NAME],
  ["retry", "--all", "dead", "--class", NAME],
  ["retry", NAME],
  ["push", NAME, NAME, "-q", "default"],
  ["cron", "show", NAME],
  ["dump", NAME],
  ["clear", NAME],
  ["batch", "show", NAME],
  [NAME],
  ["help", NAME],
  ["list", "--store", `redis:${NAME}`],
  ["clear", NAME, "--yes"],
];

Deno.test("no command prints a control character of a name or a text", async () => {
  await using bench = await Bench.open();
  const payload = (jid: string) =>
    JSON.stringify({
      class: NAME,
      args: [NAME],
      jid,
      group: NAME,
      tags: [NAME],
      error_class: NAME,
      error_message: NAME,
      failed_at: 1.7e9,
      retry_count: 1,
      error_backtrace: [NAME],
    });
  for (const jid of ["j1", "j2"]) {
    await bench.store.jobs.enqueue([{ queue: NAME, group: NAME, jid, payload: payload(jid) }]);
  }
  await bench.store.jobs.edit([(await bench.store.jobs.find(["j2"]))[0]!.ref], "kill");
  await bench.store.workers.heartbeat(
    workerRecord(`w:1:${NAME}`, { tag: NAME, queues: [NAME], weights: { [NAME]: 2 } }),
    600_000,
  );
  const raw: string[] = [];
  for (const [name, ...rest] of COMMANDS) {
    const hasJson = rest.at(-1) === "json";
    const args = [name!, ...(hasJson ? rest.slice(0, -1) : rest)];
    for (const all of hasJson ? [args, [...args, "--json"]] : [args]) {
      const { stdout, stderr } = await jobs(all, { env: { JOBS_STORE: bench.url }, cwd: bench.folder });
      const found = `${stdout}${stderr}`.replaceAll("\n", "").match(CONTROLS);
      if (found !== null) raw.push(`${all.join(" ")}: ${JSON.stringify(`${stdout}${stderr}`)}`);
      else if (stdout + stderr === "") raw.push(`${all.join(" ")}: no output`);
    }
  }
  assertEquals(raw, []);
});
