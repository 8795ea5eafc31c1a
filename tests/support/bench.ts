/**
 * A workbench for tests with real processes: a store in a temporary folder, a client, handlers that note their actions in
 * a file, and functions that wait for events.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { Client, type JobRequest } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { writeEmptyStore } from "./empty_store.ts";
import { until } from "./eventually.ts";
import { JobsProcess } from "./process.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** Returns the address of a new, empty store; default: SQLite. */
let newStoreUrl: ((folder: string) => string) | undefined;

/** Makes the tests of this file use other stores. It applies to the whole process, so such a file shares none. */
export function benchOn(url: (folder: string) => string): void {
  newStoreUrl = url;
}

/** The workbench. */
export class Bench implements AsyncDisposable {
  readonly folder: string;
  readonly url: string;
  readonly store: Store;
  readonly client: Client;
  /** The file with the notes of handlers. */
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

  /** Opens a workbench on a new store, on SQLite or as set by {@linkcode benchOn}, or on the store of an address, which may follow from its folder. */
  static async open(url?: string | ((folder: string) => string)): Promise<Bench> {
    const folder = await Deno.makeTempDir({ prefix: "jobs-test-" });
    const given = typeof url === "function" ? url(folder) : url;
    const address = given ?? newStoreUrl?.(folder) ?? await newSqliteStore(folder);
    return new Bench(folder, address, await openStore(address), true);
  }

  /** Opens a workbench on an open store. */
  static on(store: Store, folder: string): Promise<Bench> {
    return Promise.resolve(new Bench(folder, store.url, store, false));
  }

  /**
   * Starts a worker.
   *
   * @param wait waits until the worker logs that it is ready
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

  /** Freezes a worker, but not while it holds the lock of the SQLite file, which would block all other workers. */
  async freeze(worker: JobsProcess): Promise<void> {
    for (;;) {
      worker.kill("SIGSTOP");
      // A thread that is running or waits for the disk stops a little later.
      await until(() => isStopped(worker.pid), "it is frozen");
      if (!this.url.startsWith("sqlite:") || isUnlocked(this.url.slice("sqlite:".length))) return;
      worker.kill("SIGCONT");
    }
  }

  /** Pushes one job. Returns its jid. */
  async push(name: string, args: unknown[], more: Partial<JobRequest> = {}): Promise<string> {
    return (await this.client.push({ class: name, args, ...more }))!;
  }

  /** Returns the lines that handlers noted. */
  async readNotes(): Promise<string[]> {
    const text = await Deno.readTextFile(this.notes).catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }

  /** Waits until a handler has noted this line. */
  async noted(line: string): Promise<void> {
    await this.until(async () => (await this.readNotes()).includes(line), `a handler notes "${line}"`);
  }

  /** Ends the handlers that wait for the file `go`. */
  async go(): Promise<void> {
    await Deno.writeTextFile(`${this.notes}.go`, "");
  }

  /** Waits until a condition holds. The error has the content of the store. */
  until(isSo: () => boolean | Promise<boolean>, what: string | (() => string) = "it is so"): Promise<void> {
    const text = () => typeof what === "string" ? what : what();
    return until(isSo, async () => `${text()}; ${JSON.stringify(await this.store.admin.stats())}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
    if (this.#own) await Deno.remove(this.folder, { recursive: true });
  }
}

async function newSqliteStore(folder: string): Promise<string> {
  const file = `${folder}/jobs.db`;
  await writeEmptyStore(file);
  return `sqlite:${file}`;
}

/** Whether all threads of a process have stopped. */
export async function isStopped(pid: number): Promise<boolean> {
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
