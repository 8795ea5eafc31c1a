/** The queue adapter and the worker of clients/ruby with ActiveJob itself, from Debian's package. */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { JobsProcess } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

const PROGRAM = new URL("active_job.rb", import.meta.url).pathname;

for (const kind of ["SQLite", "Redis"]) {
  Deno.test(`ActiveJob's jobs are pushed, performed, retried and discarded as ActiveJob has it, on ${kind}`, async () => {
    requireTool("ruby");
    requireTool("ruby-activejob");
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    const gateway = await bench.server(["--web", "0", "-q", "other"]);
    await using _gateway = gateway;
    const url = String((await gateway.logged("Ready"))["web"]).replace(/\/$/, "");
    await using worker = new JobsProcess({ store: bench.url, command: ["ruby", PROGRAM, "work", url] });
    await worker.logged("Started");
    const push = new Deno.Command("ruby", { args: [PROGRAM, "push", url] });
    const { success, stdout, stderr } = await push.output();
    assert(success, new TextDecoder().decode(stderr));
    const jids = JSON.parse(new TextDecoder().decode(stdout));
    const ended = async (jid: string) => {
      const found = await bench.client.result(jid, { signal: AbortSignal.timeout(30_000) });
      assert(found, `${jid} ends: ${worker.lines.map(({ msg }) => msg).join()}`);
      return found;
    };

    const note = await ended(jids.note);
    assertEquals([note.class, note.queue, note.payload?.["tags"]], ["NoteJob", "notes", ["note"]]);
    assertEquals(note.log, [`Time 2026-11-26T00:00:00Z [:a, "b"] Ada ${jids.note} 1`]);
    // retry_on pushes the job again, as another one.
    assertEquals((await ended(jids.busy)).state, "succeeded");
    assertEquals((await ended(jids.gone)).log, ["discarded: no such account"]);
    const broken = await ended(jids.broken);
    assertEquals([broken.state, broken.attempt, broken.error?.class], ["dead", 2, "TypeError"]);
    const [count, first, second, third] = jids.many;
    assertEquals([count, (await ended(first)).state, (await ended(second)).state], [3, "succeeded", "succeeded"]);

    const entries = async () => (await bench.store.admin.page({ in: "scheduled" }, { limit: 10 })).entries;
    await bench.until(async () => (await entries()).length === 3, "the snoozed job is scheduled, too");
    const due = Object.fromEntries((await entries()).map(({ payload, at }) => [JSON.parse(payload).jid, at]));
    assertEquals([due[jids.later], due[third]], [Date.UTC(2099, 0, 2), Date.UTC(2099, 0, 3)]);
    assert(jids.snoozed in due);
  });
}
