/** `jobs backup` and `jobs restore`, while a worker uses the store. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openStore } from "../../src/store/open.ts";
import { replaceBackup } from "../../src/store/sqlite/backup.ts";
import { Bench } from "../support/bench.ts";
import { jobsCommand } from "../support/command.ts";
import { jobs, temporaryFolder } from "../support/process.ts";

const on = (bench: Bench, ...args: string[]) => jobs(args, { env: { JOBS_STORE: bench.url }, cwd: bench.folder });

Deno.test("backs up a store under a running worker, and restores every job of it", async () => {
  await using bench = await Bench.open();
  const queues = ["-q", "busy", "-c", "1"];
  let busyJid: string;
  {
    await using worker = await bench.server(queues);
    const args = Array.from({ length: 2_000 }, (_, i) => [i]);
    await bench.client.pushBulk({ class: "Noop", queue: "idle", args });
    for (let i = 0; i < 5; i++) await bench.push("Noop", [i], { in: "1h" });
    busyJid = await bench.push("Wait", [bench.notes], { queue: "busy" });
    await bench.noted(`start ${busyJid}`);
    // Jobs come and go meanwhile.
    const writing = bench.client.pushBulk({ class: "Noop", queue: "busy", args });
    const made = await on(bench, "backup", "copy.db", "--json");
    await writing;
    assertEquals(made.code, 0, made.stderr);
    const { jobs: count } = JSON.parse(made.stdout);
    await using copy = await openStore(`sqlite:${bench.folder}/copy.db`, { create: false });
    const { enqueued, scheduled, running, queues: found } = await copy.admin.stats();
    assertEquals([scheduled, found.find(({ name }) => name === "idle")?.size], [5, 2_000]);
    assertEquals(count, enqueued + scheduled + running);
    assertEquals((await Deno.stat(`${bench.folder}/copy.db`)).mode! & 0o777, 0o600);
    const refused = await on(bench, "restore", "copy.db", "--yes");
    assertEquals(refused.code, 1);
    assertMatch(refused.stderr, /^jobs: Workers are online: .* Stop them first/);
    worker.kill("SIGTERM");
    await bench.go();
    await worker.status();
  }
  await on(bench, "clear", "idle", "--yes");
  const asked = await on(bench, "restore", "copy.db");
  assertEquals(asked.code, 2);
  assertStringIncludes(asked.stderr, "This would replace the store");
  const restored = await on(bench, "restore", "copy.db", "--yes", "--json");
  assertEquals(restored.code, 0, restored.stderr);
  const { kept, jobs: count } = JSON.parse(restored.stdout);
  assertEquals(await files(bench, "copy.db"), ["copy.db"]);
  assertEquals(JSON.parse((await on(bench, "workers", "--json")).stdout), { workers: [], pausedQueues: [] });
  const { scheduled, queued, queues: found } = JSON.parse((await on(bench, "stats", "--json")).stdout);
  assertEquals([scheduled, found.find((one: { name: string }) => one.name === "idle").size], [5, 2_000]);
  // Jobs that ran when the backup was made are queued: no worker waits for a heartbeat to lapse.
  assertEquals(count, queued + scheduled);
  const [next] = JSON.parse((await on(bench, "list", "queued", "-q", "busy", "--limit", "1", "--json")).stdout).jobs;
  assertEquals([next.jid, next.class], [busyJid, "Wait"]);
  assertEquals((await Deno.stat(kept)).isFile, true);
});

/** Returns the names of the files in a bench's folder that start with a text. */
async function files(bench: Bench, start: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(bench.folder));
  return entries.map(({ name }) => name).filter((name) => name.startsWith(start)).sort();
}

Deno.test("refuses to back up to a file next to which the log of another one lies", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [1]);
  await Deno.writeTextFile(`${bench.folder}/copy.db-wal`, "a log");
  const { code, stderr } = await on(bench, "backup", "copy.db");
  assertEquals([code, stderr], [1, 'jobs: File "copy.db-wal" exists already: expected a new one\n']);
  assertEquals(await files(bench, "copy.db"), ["copy.db-wal"]);
  await Deno.writeTextFile(`${bench.folder}/other.db`, "an earlier one");
  const again = await on(bench, "backup", "other.db");
  assertEquals(again.stderr, 'jobs: File "other.db" exists already: expected a new one, or --replace\n');
});

Deno.test("restores to a place without a store", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [1]);
  assertMatch((await on(bench, "backup", "copy.db")).stdout, /^Backed up 1 job to copy\.db \(\d+ KB\)\n$/);
  await using folder = await temporaryFolder();
  const store = `sqlite:${folder.path}/new.db`;
  const { stdout } = await on(bench, "restore", "copy.db", "--store", store);
  assertEquals(stdout, `Restored 1 job to ${store}\n`);
  assertEquals(JSON.parse((await on(bench, "stats", "--json", "--store", store)).stdout).queued, 1);
});

Deno.test("rejects a target that exists, a file that isn't a backup, and Redis", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [1]);
  await Deno.writeTextFile(`${bench.folder}/text`, "not a database, but long enough to be read as one".repeat(20));
  const cases: [args: string[], message: RegExp][] = [
    [["backup", "text"], /^jobs: File "text" exists already/],
    [["backup", "no/such/folder/x"], /^jobs: Can't write "no\/such\/folder\/x"/],
    [["backup", "x", "--store", "redis://127.0.0.1:1"], /isn't a SQLite file: back up Redis with BGSAVE/],
    [["backup", "x", "--store", "sqlite::memory:"], /expected a file/],
    [["restore", "none", "--yes"], /^jobs: No backup at "none"/],
    [["restore", "text", "--yes"], /^jobs: /],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await on(bench, ...args);
    assertEquals([code, stderr.trim().split("\n").length], [1, 1], stderr);
    assertMatch(stderr, message);
  }
  assertEquals((await bench.store.admin.stats()).enqueued, 1);
  const files = (await Array.fromAsync(Deno.readDir(bench.folder))).map(({ name }) => name).sort();
  assertEquals(files.filter((name) => !name.startsWith("jobs.db")), ["text"]);
});

Deno.test("--replace replaces an earlier backup when the new one is complete, and leaves it after a failure", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [1]);
  for (const stored of ["1 job", "2 jobs"]) {
    const made = await on(bench, "backup", "copy.db", "--replace");
    assertEquals(made.code, 0, made.stderr);
    assertStringIncludes(made.stdout, `Backed up ${stored} to copy.db`);
    assertEquals(await files(bench, "copy.db"), ["copy.db"]);
    await bench.push("A", [2]);
  }
  const before = await Deno.readFile(`${bench.folder}/copy.db`);
  assertEquals((await on(bench, "backup", "copy.db")).code, 1);
  await Deno.writeTextFile(`${bench.folder}/broken.db`, "not a database, but long enough to be read as one".repeat(20));
  const failed = await on(bench, "backup", "copy.db", "--replace", "--store", `sqlite:${bench.folder}/broken.db`);
  assertEquals(failed.code, 1);
  assertEquals(await Deno.readFile(`${bench.folder}/copy.db`), before);
  assertEquals(await files(bench, "copy.db"), ["copy.db"]);
});

Deno.test("--replace replaces neither the store, nor another one in use, nor a file that isn't a backup", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [1]);
  await Deno.writeTextFile(`${bench.folder}/text`, "notes");
  await Deno.mkdir(`${bench.folder}/folder`);
  await Deno.symlink("jobs.db", `${bench.folder}/link`);
  await Deno.writeTextFile(`${bench.folder}/used`, "SQLite format 3\0");
  await Deno.writeTextFile(`${bench.folder}/used-wal`, "a log");
  for (
    const [file, message] of [
      ["jobs.db", 'File "jobs.db" is the store itself'],
      ["link", 'File "link" is the store itself'],
      ["used", 'File "used-wal" exists: "used" is a store in use'],
      ["text", 'File "text" isn\'t a backup'],
      ["folder", 'File "folder" isn\'t a backup'],
    ] as const
  ) {
    const { code, stderr } = await on(bench, "backup", file, "--replace");
    assertEquals([code, stderr.trim().split("\n").length], [1, 1], stderr);
    assertStringIncludes(stderr, message);
  }
  assertEquals(await Deno.readTextFile(`${bench.folder}/text`), "notes");
  assertEquals((await bench.store.admin.stats()).enqueued, 1);
});

Deno.test("a backup that doesn't fit names the file that can't be written, and leaves nothing of it", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [1]);
  // An empty store takes more than the limit of the file size, which acts as a full disk.
  const limited = ["-c", `trap '' XFSZ; ulimit -f 128; exec "$@"`, "sh", ...jobsCommand(), "backup", "copy.db"];
  const { code, stderr } = await new Deno.Command("sh", {
    args: limited,
    env: { JOBS_STORE: bench.url },
    cwd: bench.folder,
  }).output();
  assertMatch(new TextDecoder().decode(stderr), /^jobs: Store "copy\.db" is not available: disk I\/O error\n$/);
  assertEquals([code, await files(bench, "copy.db")], [1, []]);
});

Deno.test("restore refuses a backup that was interrupted: one that is empty or has a journal", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [1]);
  await on(bench, "backup", "part.db");
  await Deno.writeTextFile(`${bench.folder}/part.db-journal`, "the journal");
  await Deno.writeTextFile(`${bench.folder}/empty.db`, "");
  for (
    const [file, why] of [
      ["part.db", 'writing it was interrupted ("part.db-journal" exists)'],
      ["empty.db", "it isn't a SQLite file, or is empty"],
    ] as const
  ) {
    const { code, stderr } = await on(bench, "restore", file, "--yes");
    assertEquals([code, stderr.replaceAll(`${bench.folder}/`, "")], [
      1,
      `jobs: File "${file}" isn't a backup: ${why}\n`,
    ]);
  }
  assertEquals((await bench.store.admin.stats()).enqueued, 1);
});

Deno.test("restore follows links: the store's link stays, and the log of a linked backup is part of it", async () => {
  await using bench = await Bench.open();
  await using folder = await temporaryFolder();
  const real = `${folder.path}/real.db`;
  await using made = await openStore(`sqlite:${real}`);
  await made.admin.configure("made", { pause: true });
  await Deno.symlink(real, `${bench.folder}/made.db`);
  await Deno.mkdir(`${folder.path}/disk`);
  await Deno.symlink(`${folder.path}/disk/jobs.db`, `${bench.folder}/link.db`);
  const store = `sqlite:${bench.folder}/link.db`;
  assertEquals((await on(bench, "push", "Old", "--store", `sqlite:${folder.path}/disk/jobs.db`)).code, 0);
  const { code, stderr, stdout } = await on(bench, "restore", "made.db", "--yes", "--json", "--store", store);
  assertEquals(code, 0, stderr);
  assertEquals(JSON.parse(stdout).kept, await Deno.realPath(`${folder.path}/disk/jobs.db.before-restore`));
  assertEquals((await Deno.lstat(`${bench.folder}/link.db`)).isSymlink, true);
  const { queues } = JSON.parse((await on(bench, "stats", "--json", "--store", store)).stdout);
  assertEquals(queues.map(({ name, paused }: Record<string, unknown>) => [name, paused]), [["made", true]]);
});

Deno.test("a restore leaves the copy of one that runs at the same time alone", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [1]);
  await on(bench, "backup", "copy.db");
  await Deno.writeTextFile(`${bench.folder}/jobs.db.restoring`, "of the other one");
  {
    using other = await Deno.open(bench.folder);
    await other.lock(true);
    const { code, stderr } = await on(bench, "restore", "copy.db", "--yes");
    assertEquals(code, 1);
    assertMatch(stderr, /^jobs: Another restore or backup in the folder of "[^"]+" is running: wait for its end\n$/);
    assertEquals(await Deno.readTextFile(`${bench.folder}/jobs.db.restoring`), "of the other one");
  }
  // That of a killed one is removed.
  assertEquals((await on(bench, "restore", "copy.db", "--yes")).code, 0);
  assertEquals(await files(bench, "jobs.db.restoring"), []);
});

Deno.test("--replace removes the copies that killed backups of its file have left, and not that of a running one", async () => {
  await using bench = await Bench.open();
  await bench.push("A", [1]);
  const copy = (file: string) => `${file}.${crypto.randomUUID()}.new`;
  const left = [copy("copy.db"), `${copy("copy.db")}-journal`];
  const others = [copy("other.db"), copy("copy.db.2"), "copy.db.new"];
  for (const name of [...left, ...others]) await Deno.writeTextFile(`${bench.folder}/${name}`, "of another one");
  const files = async () => (await Array.fromAsync(Deno.readDir(bench.folder))).map(({ name }) => name);
  const kept = async () => (await files()).filter((name) => name.includes(".new")).sort();
  {
    using running = await Deno.open(bench.folder);
    await running.lock(false);
    assertEquals((await on(bench, "backup", "copy.db", "--replace")).code, 0);
    assertEquals(await kept(), [...left, ...others].sort());
  }
  assertEquals((await on(bench, "backup", "copy.db", "--replace")).code, 0);
  assertEquals(await kept(), [...others].sort());
});

Deno.test("a backup that replaces another one lets none that runs at the same time remove its copy", async () => {
  await using bench = await Bench.open();
  const [store, target] = [`${bench.folder}/jobs.db`, `${bench.folder}/copy.db`];
  await bench.push("A", [1]);
  const [isWriting, end] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  const slow = replaceBackup(store, target, async (copy) => {
    await Deno.writeTextFile(copy, "slow");
    isWriting.resolve(copy);
    await end.promise;
  });
  const copy = await isWriting.promise;
  assertEquals((await on(bench, "backup", "copy.db", "--replace")).code, 0);
  assertEquals(await Deno.readTextFile(copy), "slow");
  end.resolve();
  await slow;
  assertEquals(await Deno.readTextFile(target), "slow");
});
