/**
 * A workbench for tests with real processes: a store in a temporary folder, a client, handlers that note what they do in
 * a file, and waiting for what has to happen.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { Client, type JobRequest } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { until } from "./eventually.ts";
import { JobsProcess } from "./process.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** The address of a new, empty store. */
let newStoreUrl = (folder: string): string => `sqlite:${folder}/jobs.db`;

/** Lets the tests of this file work on other stores. */
export function benchOn(url: (folder: string) => string): void {
  newStoreUrl = url;
}

/** The workbench. */
export class Bench implements AsyncDisposable {
  readonly folder: string;
  readonly url: string;
  readonly store: Store;
  readonly client: Client;
  /** The file in which handlers note. */
  readonly notes: string;
  /** The module of `tests/support/handlers.js`. */
  readonly handlers: string = new URL("./handlers.js", import.meta.url).pathname;
  readonly #own: boolean;

  private constructor(folder: string, url: string, store: Store, own: boolean) {
    this.folder = folder;
    this.url = url;
    this.store = store;
    this.client = new Client({ store });
    this.notes = `${folder}/notes`;
    this.#own = own;
  }

  /** A workbench on a store of its own, unless an address is given: on SQLite, or as {@linkcode benchOn} says. */
  static async open(url?: string): Promise<Bench> {
    const folder = await Deno.makeTempDir({ prefix: "jobs-test-" });
    const address = url ?? newStoreUrl(folder);
    return new Bench(folder, address, await openStore(address), true);
  }

  /** A workbench on a store that is open already. */
  static on(store: Store, folder: string): Promise<Bench> {
    return Promise.resolve(new Bench(folder, store.url, store, false));
  }

  /**
   * A server that takes jobs.
   *
   * @param wait until it says that it is ready; not for one that says nothing, or dies before
   */
  async server(
    args: readonly string[] = [],
    env: Record<string, string> = {},
    wait = true,
  ): Promise<JobsProcess> {
    const server = new JobsProcess({ store: this.url, args: [this.handlers, ...args], env });
    if (wait) await server.logged("Ready");
    return server;
  }

  /** Freezes a worker, but not while it holds the lock of the SQLite file: that would hold up all other workers. */
  async freeze(worker: JobsProcess): Promise<void> {
    for (;;) {
      worker.kill("SIGSTOP");
      // A thread that runs at the moment, or waits for the disk, stops a little later.
      await until(() => isStopped(worker.pid), "it is frozen");
      if (!this.url.startsWith("sqlite:") || isUnlocked(this.url.slice("sqlite:".length))) return;
      worker.kill("SIGCONT");
    }
  }

  /** Pushes one job; returns its jid. */
  async push(name: string, args: unknown[], more: Partial<JobRequest> = {}): Promise<string> {
    return (await this.client.push({ class: name, args, ...more }))!;
  }

  /** What handlers noted, line by line. */
  async readNotes(): Promise<string[]> {
    const text = await Deno.readTextFile(this.notes).catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }

  /** Waits until a handler has noted this. */
  async noted(line: string): Promise<void> {
    await this.until(async () => (await this.readNotes()).includes(line), `a handler notes "${line}"`);
  }

  /** Lets those handlers end that wait for it. */
  async go(): Promise<void> {
    await Deno.writeTextFile(`${this.notes}.go`, "");
  }

  /** Waits until it is so; says what is in the store when it is not. */
  until(isSo: () => boolean | Promise<boolean>, what = "it is so"): Promise<void> {
    return until(isSo, async () => `${what}; ${JSON.stringify(await this.store.admin.stats())}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
    if (this.#own) await Deno.remove(this.folder, { recursive: true });
  }
}

async function isStopped(pid: number): Promise<boolean> {
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    if (!/\) T /.test(await Deno.readTextFile(`/proc/${pid}/task/${name}/stat`))) return false;
  }
  return true;
}

function isUnlocked(file: string): boolean {
  using database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch {
    return false;
  }
}
