/**
 * The two sides of a comparison: trees, their stores, and the processes that perform the cases.
 *
 * @module
 */
import { configuredDeno } from "../../../scripts/deno_command.ts";
import { childrenOf } from "../../soak/processes.ts";
import { startPostgres } from "../../support/postgres.ts";
import { startRedis } from "../../support/redis.ts";
import { ROOT } from "../measure.ts";
import type { Side } from "./comparison.ts";
import type { Figures } from "./meters.ts";
import type { Request, Response } from "./subject.ts";

/** Runs git, and returns what it printed. @throws {Error} if it fails */
export async function git(...args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("git", { args: ["-C", ROOT, ...args] }).output();
  const text = new TextDecoder();
  if (!success) throw new Error(`git ${args.join(" ")}: ${text.decode(stderr).trim()}`);
  return text.decode(stdout).trim();
}

/** Returns the commit to compare with: the merge base with main, unless that is the tree itself. */
export async function defaultCommit(): Promise<string> {
  const [head, changes] = [await git("rev-parse", "HEAD"), await git("status", "--porcelain")];
  const base = await git("merge-base", "HEAD", "origin/main").catch(() => git("merge-base", "HEAD", "main"))
    .catch(() => head);
  if (base !== head) return base;
  return changes === "" ? await git("rev-parse", "HEAD~1") : head;
}

/** Checks a commit out into a folder. It is removed from the list of worktrees at the end. */
export async function checkOut(commit: string, folder: string): Promise<AsyncDisposable> {
  await git("worktree", "add", "--quiet", "--detach", folder, commit);
  return {
    async [Symbol.asyncDispose]() {
      await git("worktree", "remove", "--force", folder);
    },
  };
}

/** A store, and the process of its server. */
export interface OpenStore {
  readonly url: string;
  readonly pid?: number;
}

/** The stores of one kind. */
export interface Stores extends AsyncDisposable {
  /** Returns an empty store for a side. */
  empty(side: Side): Promise<OpenStore>;
}

/** How stores of a kind are opened. None syncs to the disk, whose time would drown the rest. */
export const STORES: Readonly<Record<string, (folder: string) => Promise<Stores>>> = {
  SQLite(folder) {
    const empty = () => Promise.resolve({ url: `sqlite:${folder}/${crypto.randomUUID()}.db?durability=normal` });
    return Promise.resolve({ empty, async [Symbol.asyncDispose]() {} });
  },
  async Redis() {
    const { value: redis, pid } = await startedBy(() => startRedis());
    const databases: Readonly<Record<Side, string>> = { before: "0", after: "1" };
    return {
      async empty(side) {
        await redis.cli("-n", databases[side], "FLUSHDB");
        return { url: `redis://127.0.0.1:${redis.port}/${databases[side]}`, pid };
      },
      [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
    };
  },
  async PostgreSQL() {
    const { value: postgres, pid } = await startedBy(() => startPostgres());
    return {
      empty: async () => ({ url: postgres.url(await postgres.create()), pid }),
      [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
    };
  },
};

async function startedBy<Value>(start: () => Promise<Value>): Promise<{ readonly value: Value; readonly pid: number }> {
  const others = new Set(childrenOf(Deno.pid));
  const value = await start();
  return { value, pid: childrenOf(Deno.pid).find((pid) => !others.has(pid))! };
}

/** A process that performs the cases of a tree. */
export class Subject implements AsyncDisposable {
  /** The cases that the tree has. */
  cases: readonly string[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: ReadableStreamDefaultReader<string>;
  #rest = "";

  private constructor(tree: string, { url, pid }: OpenStore) {
    const script = new URL("./subject.ts", import.meta.url).pathname;
    const args = [script, tree, url, ...(pid === undefined ? [] : [String(pid)])];
    const [program, ...rest] = configuredDeno(tree, "run", "--quiet", "--allow-all", "--no-check", ...args);
    const streams = { stdin: "piped", stdout: "piped", stderr: "inherit" } as const;
    this.#child = new Deno.Command(program, { args: rest, ...streams, cwd: tree }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#output = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** @throws {Error} if the tree can't open the store */
  static async start(tree: string, store: OpenStore): Promise<Subject> {
    const subject = new Subject(tree, store);
    subject.cases = (await subject.#read()).cases!;
    return subject;
  }

  /** Performs one step, and returns its figures. @throws {Error} if it fails */
  async measure(request: Request): Promise<Figures> {
    await this.#input.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
    return (await this.#read()).figures!;
  }

  async #read(): Promise<Response> {
    while (!this.#rest.includes("\n")) {
      const { value, done } = await this.#output.read();
      if (done) throw new Error(`A measured process ended with ${(await this.#child.status).code}`);
      this.#rest += value;
    }
    const end = this.#rest.indexOf("\n");
    const response: Response = JSON.parse(this.#rest.slice(0, end));
    this.#rest = this.#rest.slice(end + 1);
    if (response.error !== undefined) throw new Error(response.error);
    return response;
  }

  async [Symbol.asyncDispose]() {
    await this.#input.close().catch(() => {});
    await this.#output.cancel();
    await this.#child.status;
  }
}
