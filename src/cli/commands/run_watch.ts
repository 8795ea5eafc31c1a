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
  const folders = [...settings.handlers.map(folderOf), ...(file === undefined ? [] : [dirname(file)])];
  using watcher = Deno.watchFs([...new Set(folders)]);
  const args = ["run", ...argv.filter((arg) => arg !== "--watch")];
  const changes = watcher[Symbol.asyncIterator]();
  let asked = inbox.next();
  for (;;) {
    // One save has several events. Those that follow are of files that the new process reads.
    const change = nextChange(changes, systemClock.now());
    const child = spawnSelf({ args, env: {}, output: "inherit", endsWithThis: true });
    const ended = child.status.then(() => "ended" as const);
    let isEnded = false;
    let changed: string | undefined;
    while (changed === undefined) {
      const event = await Promise.race([change, asked, ...(isEnded ? [] : [ended])]);
      if (event === "ended") {
        isEnded = true;
        printError("jobs: the worker has ended; a change of its files starts it again");
      } else if (typeof event === "string") changed = event;
      else {
        asked = inbox.next();
        if (!isEnded) child.kill(event.by as Deno.Signal);
        if (event.verb === "stop") return (await child.status).code;
      }
    }
    printError(`jobs: ${changed} has changed; starting again`);
    if (!isEnded) child.kill("SIGTERM");
    await child.status;
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
