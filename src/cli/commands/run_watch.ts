/**
 * `jobs run --watch`, for development: a parent process that starts the worker again when its code or its configuration changes.
 *
 *  1. Each start is a new process: modules that were imported once can't be imported again with their imports.
 *  2. The worker stops as on TERM: running jobs finish, or return to their queue.
 *  3. A worker that ends by itself, because its code is invalid for example, is started again at the next change, not before.
 *
 * @module
 */
import { dirname } from "node:path";
import { systemClock } from "../../clock.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { spawnSelf } from "../../handlers/isolation/spawn_self.ts";
import { Inbox, listenToSignals } from "../../server/control/signals.ts";
import { send } from "../../server/host/member_process.ts";
import { printError } from "../terminal/output.ts";

/** Files whose changes count. A worker writes its store and its log into the same folders. */
const WATCHED = /\.([cm]?[jt]sx?|json|jsonc|ya?ml)$/;
const UNWATCHED = /\/(node_modules|\.[^/]+)\//;

/**
 * Runs the worker until a stop request.
 *
 * @param argv the arguments after `jobs run`
 * @returns the exit code of the last worker
 */
export async function runWatched({ settings, file }: LoadedConfig, argv: readonly string[]): Promise<number> {
  const inbox = new Inbox();
  using _signals = listenToSignals(inbox);
  const requests = new Requests();
  void requests.passOn(inbox);
  const folders = [...settings.handlers.map(folderOf), ...(file === undefined ? [] : [dirname(file)])];
  using watcher = Deno.watchFs([...new Set(folders)]);
  const args = ["run", ...argv.filter((arg) => arg !== "--watch")];
  const changes = watcher[Symbol.asyncIterator]();
  for (;;) {
    // One save has several events. Those that follow are of files that the new process reads.
    const change = nextChange(changes, systemClock.now());
    const worker = spawnSelf({ args, env: {}, output: "inherit", endsWithThis: true });
    requests.serve(worker);
    const ended = worker.status.then(() => undefined);
    let changed = await Promise.race([change, requests.stopped, ended]);
    if (changed === undefined && !requests.isStopping) {
      printError("jobs: the worker has ended; a change of its files starts it again");
      changed = await Promise.race([change, requests.stopped]);
    }
    if (changed !== undefined && !requests.isStopping) {
      printError(`jobs: ${changed} has changed; starting again`);
      requests.end();
    }
    const { code } = await worker.status;
    if (requests.isStopping) return code;
  }
}

/** Passes requests on to the worker that runs, also while it stops: a second stop request ends its jobs at once. */
class Requests {
  readonly #stop = Promise.withResolvers<undefined>();
  #worker: Deno.ChildProcess | undefined;
  #isEnding = false;
  #isStopping = false;

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Resolves at the first stop request. */
  get stopped(): Promise<undefined> {
    return this.#stop.promise;
  }

  serve(worker: Deno.ChildProcess): void {
    this.#worker = worker;
    this.#isEnding = false;
  }

  /** Stops the worker. The first stop request after that has no other effect on it. */
  end(): void {
    this.#isEnding = true;
    this.#send("SIGTERM");
  }

  /** Never resolves. */
  async passOn(inbox: Inbox): Promise<void> {
    for (;;) {
      const { verb, by } = await inbox.next();
      if (verb !== "stop") this.#send(by as Deno.Signal);
      // A stop may have another cause than a signal of that name: the end of the terminal.
      else if (this.#isStopping || !this.#isEnding) this.#send(by === "SIGINT" ? by : "SIGTERM");
      if (verb !== "stop") continue;
      this.#isStopping = this.#isEnding = true;
      this.#stop.resolve(undefined);
    }
  }

  #send(signal: Deno.Signal): void {
    if (this.#worker) send(this.#worker, signal);
  }
}

/** Resolves with the path of the next change of a file that was written after a time. */
async function nextChange(changes: AsyncIterator<Deno.FsEvent>, since: number): Promise<string> {
  for (;;) {
    const { value, done } = await changes.next();
    if (done) return await new Promise(() => {});
    const { kind, paths } = value as Deno.FsEvent;
    if (kind === "access" || kind === "any") continue;
    const path = paths.find((one) => WATCHED.test(one) && !UNWATCHED.test(one));
    const written = path === undefined ? undefined : (await Deno.stat(path).catch(() => undefined))?.mtime?.getTime();
    if (written !== undefined && written >= since) return path!;
  }
}

function folderOf(path: string): string {
  return Deno.statSync(path).isDirectory ? path : dirname(path);
}
