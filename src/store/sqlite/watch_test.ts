import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { until } from "../../../tests/support/eventually.ts";
import { systemClock } from "../../clock.ts";
import { createWalSignal, watchWal } from "./wal_watcher.ts";
import { Watch } from "./watch.ts";

/** Opens a database with two connections: the one that watches, and another. */
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

/** Counts the jobs. */
function count(database: DatabaseSync): number {
  return database.prepare("SELECT count(*) AS n FROM jobs").get()!["n"] as number;
}

Deno.test("watch: listens to the kernel after some polls without a change, and sees a reported commit", async () => {
  await withTwo(async (ours, others, path) => {
    let listening = 0;
    const watch = new Watch(ours, (onWrite) => {
      const stop = watchWal(path, onWrite);
      assert(stop !== undefined, "the kernel reports writes");
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
      assertEquals(listening, 0, "without waiters it doesn't listen");
    }
    const waiting = wait();
    await until(() => listening === 1);
    watch.close();
    await waiting;
    assertEquals(listening, 0);
  });
});

Deno.test("watch: looks at each report, also while it polls at short intervals", async () => {
  await withTwo(async (ours, others) => {
    let report: (() => void) | undefined;
    const watch = new Watch(ours, (onWrite) => {
      report = onWrite;
      return () => report = undefined;
    });
    let looks = 0;
    const waiting = watch.until(() => {
      looks++;
      return count(ours) === 1;
    }, new AbortController().signal);
    await until(() => report !== undefined);
    report!(); // the write, before its sync: the polls are short from now on
    others.exec("INSERT INTO jobs VALUES (1)");
    const before = looks;
    report!(); // after the commit
    assertEquals(looks, before + 1, "in the same turn");
    await waiting;
    watch.close();
  });
});

Deno.test("watch: sees commits without a report, and stops listening after three of them", async () => {
  await withTwo(async (ours, others) => {
    let subscribed = 0;
    let ended = 0;
    const watch = new Watch(ours, () => {
      subscribed++;
      return () => ended++;
    });
    const waiting = watch.until(() => count(ours) === 5, new AbortController().signal);
    for (let missed = 1; missed <= 3; missed++) {
      await until(() => subscribed === missed);
      others.exec("INSERT INTO jobs VALUES (1)");
      await until(() => ended === missed);
    }
    others.exec("INSERT INTO jobs VALUES (1); INSERT INTO jobs VALUES (1)");
    await waiting;
    assertEquals(subscribed, 3);
    watch.close();
  });
});

Deno.test("watch: looks at waits that end by the clock while it listens", async () => {
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

Deno.test("watch: a waiter whose time comes soon speeds up the polls of the others", async () => {
  await withTwo(async (ours) => {
    const watch = new Watch(ours, () => () => {});
    const { signal } = new AbortController();
    let polls = 0;
    const others = watch.until(() => ++polls < 0, signal);
    // The first two looks come at once; the third is the first poll at the pace of listening.
    await until(() => polls >= 3);
    let looks = 0;
    const waiting = watch.until(() => ++looks === 40 || "soon", signal);
    // At the pace of listening, 40 looks take 12 s; at the usual one, 0.6 s.
    const deadline = AbortSignal.timeout(8_000);
    await Promise.race([waiting, new Promise((resolve) => deadline.addEventListener("abort", resolve))]);
    assert(!deadline.aborted, `${looks} looks in 8 s`);
    watch.close();
    await others;
  });
});

Deno.test("wal signal: the kernel reports it to watchers", async () => {
  await withTwo(async (_ours, _others, path) => {
    const signal = createWalSignal(path, systemClock);
    const reported = Promise.withResolvers<void>();
    const stop = watchWal(path, () => reported.resolve());
    assert(stop !== undefined, "the kernel reports writes");
    signal();
    await reported.promise;
    stop();
  });
});

Deno.test("wal signal: does nothing without a log", async () => {
  await withTwo(async (ours, others, path) => {
    const signal = createWalSignal(path, systemClock);
    ours.close();
    others.close(); // the last connection deletes the log
    signal();
    await assertRejects(() => Deno.stat(`${path}-wal`), Deno.errors.NotFound);
    ours.open();
    others.open();
  });
});

Deno.test("watch: with a fixed interval it sees commits without listening to the kernel", async () => {
  await withTwo(async (ours, others) => {
    let subscribed = 0;
    const watch = new Watch(ours, () => (subscribed++, () => {}), { pollMs: 5 });
    for (let i = 1; i <= 3; i++) {
      const waiting = watch.until(() => count(ours) >= i, new AbortController().signal);
      others.exec("INSERT INTO jobs VALUES (1)");
      await waiting;
    }
    let looks = 0;
    const stop = new AbortController();
    const waiting = watch.until(() => (looks++, false), stop.signal);
    await until(() => looks >= 3); // also without a commit
    stop.abort();
    await waiting;
    assertEquals(subscribed, 0);
    watch.close();
  });
});
