import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { until } from "../../../tests/support/eventually.ts";
import { watchWal } from "./wal_watcher.ts";
import { Watch } from "./watch.ts";

/** A database with two connections to it: ours, and another's. */
async function withTwo(run: (ours: DatabaseSync, others: DatabaseSync, path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/jobs.db`;
  const ours = new DatabaseSync(path, { timeout: 1_000 });
  const others = new DatabaseSync(path, { timeout: 1_000 });
  try {
    ours.exec("PRAGMA journal_mode = WAL; CREATE TABLE jobs (id INTEGER)");
    await run(ours, others, path);
  } finally {
    ours.close();
    others.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** How many jobs there are. */
function count(database: DatabaseSync): number {
  return database.prepare("SELECT count(*) AS n FROM jobs").get()!["n"] as number;
}

Deno.test("watch: after a while without changes it listens instead of asking, and what it hears of is seen", async () => {
  await withTwo(async (ours, others, path) => {
    let listening = 0;
    const watch = new Watch(ours, (told) => {
      const stop = watchWal(path, told);
      assert(stop !== undefined, "the kernel tells nothing");
      listening++;
      return () => {
        listening--;
        stop();
      };
    });
    const wait = () => {
      const seen = count(ours);
      return watch.until(() => count(ours) > seen, new AbortController().signal);
    };
    for (let i = 1; i <= 3; i++) {
      const waiting = wait();
      await until(() => listening === 1);
      others.exec("INSERT INTO jobs VALUES (1)");
      await waiting;
      assertEquals(count(ours), i);
      assertEquals(listening, 0, "nobody waits: nothing is listened to");
    }
    const waiting = wait();
    await until(() => listening === 1);
    watch.close();
    await waiting;
    assertEquals(listening, 0);
  });
});

Deno.test("watch: what is not heard is seen all the same, and after some of it nothing is listened for any more", async () => {
  await withTwo(async (ours, others) => {
    let listened = 0;
    let listening = false;
    const watch = new Watch(ours, () => {
      listened++;
      listening = true;
      return () => listening = false;
    });
    let jobs = 0;
    const waiting = watch.until(() => count(ours) === 5, new AbortController().signal);
    for (let missed = 1; missed <= 3; missed++) {
      await until(() => listening);
      others.exec("INSERT INTO jobs VALUES (1)");
      jobs++;
      await until(() => !listening);
    }
    others.exec("INSERT INTO jobs VALUES (1); INSERT INTO jobs VALUES (1)");
    jobs += 2;
    await waiting;
    assertEquals([count(ours), listened], [jobs, 3]);
    watch.close();
  });
});

Deno.test("watch: what ends by the clock is looked at while it listens", async () => {
  await withTwo(async (ours) => {
    let listening = false;
    const watch = new Watch(ours, () => {
      listening = true;
      return () => listening = false;
    });
    let isOver = false;
    const waiting = watch.until(() => isOver, new AbortController().signal);
    await until(() => listening);
    isOver = true;
    await waiting;
    assert(!listening);
    watch.close();
  });
});

Deno.test("watch: who joins others and waits for what comes soon is not kept waiting by their pace", async () => {
  await withTwo(async (ours) => {
    let listening = false;
    const watch = new Watch(ours, () => {
      listening = true;
      return () => listening = false;
    });
    const { signal } = new AbortController();
    const others = watch.until(() => false, signal);
    await until(() => listening);
    let looks = 0;
    const waiting = watch.until(() => ++looks === 3 || "soon", signal);
    assert(!listening, "it is asked again, and not listened");
    await waiting;
    watch.close();
    await others;
  });
});
