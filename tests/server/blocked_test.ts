/** A handler that blocks the event loop does not delay jobs that have not started. With real processes. */
import { assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { startRedis } from "../support/redis.ts";

/** Blocks the event loop until the file `go` exists next to the notes. */
const SPIN = `
  export function Spin(ctx, file) {
    const note = (line) => Deno.writeTextFileSync(file, line + " " + ctx.jid + "\\n", { append: true });
    note("start");
    for (;;) {
      try {
        Deno.statSync(file + ".go");
        return note("end");
      } catch {}
    }
  }`;

const GAVE_BACK = "Gave back jobs that had not started: the event loop was blocked";

for (const kind of ["SQLite", "Redis", "Redis away meanwhile"] as const) {
  Deno.test(`while a handler blocks the event loop, jobs that have not started run on another worker, each once and in order: on ${kind}`, async () => {
    await using redis = kind === "SQLite" ? undefined : await startRedis({ aof: "always" });
    await using bench = await Bench.open(redis?.url);
    const module = `${bench.folder}/spin.js`;
    await Deno.writeTextFile(module, SPIN);
    await using blocked = await bench.server([module, "-c", "10"]);
    await bench.store.admin.configure("default", { pause: true });
    const spin = await bench.push("Spin", [bench.notes]);
    for (let i = 1; i <= 9; i++) await bench.push("Note", [bench.notes, `${i}`]);
    await bench.store.admin.configure("default", { pause: false });
    await bench.noted(`start ${spin}`);
    if (kind === "Redis away meanwhile") {
      await redis!.kill();
      await redis!.start();
    }
    await bench.push("Note", [bench.notes, "10"]);
    await bench.until(async () => (await bench.store.admin.stats()).running === 1, "the others are given back");

    await using other = await bench.server(["-c", "1"]);
    await bench.noted("10");
    assertEquals(await bench.readNotes(), [`start ${spin}`, ..."123456789".split(""), "10"]);
    other.kill("SIGTERM");
    await other.status();
    await bench.go();
    await blocked.logged("Done", { jid: spin });
    await blocked.logged(GAVE_BACK, { count: 9 });
    // The worker continues with new jobs.
    await bench.push("Note", [bench.notes, "11"]);
    await bench.noted("11");
    assertEquals(await bench.readNotes(), [`start ${spin}`, ..."123456789".split(""), "10", `end ${spin}`, "11"]);
    blocked.kill("SIGTERM");
    assertEquals((await blocked.status()).code, 0);
    const { processed, enqueued, running } = await bench.store.admin.stats();
    assertEquals({ processed, enqueued, running }, { processed: 12, enqueued: 0, running: 0 });
  });
}
