/**
 * What `jobs quiet`, `stop` and `dump` share: which processes are meant, and asking them through the store.
 *
 * @module
 */
import { fewOf } from "../../text/format.ts";
import { COMMON_FLAGS, type Flag, parseCommand, UsageError } from "../terminal/args.ts";
import { recordAudit } from "./audit.ts";
import { print, printJson } from "../terminal/output.ts";
import { type ConfigFlags, withStore } from "./store.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import type { Store } from "../../store/admin/store.ts";

/** What was asked for. */
export interface AskArguments {
  readonly flags: ConfigFlags & {
    readonly all: boolean;
    readonly here: boolean;
    readonly json: boolean;
    /** Only of `quiet`. */
    readonly end: boolean;
  };
  readonly names: readonly string[];
}

/**
 * Reads `IDENTITY … | --here | --all`.
 *
 * @param more flags of this command's own
 */
export function parseAsk(
  command: string,
  argv: readonly string[],
  more: { readonly end?: Flag & { takes: "switch" } } = {},
): AskArguments {
  const given: Flag & { takes: "switch" } = { takes: "switch" };
  const parsed = parseCommand(command, argv, { ...COMMON_FLAGS, all: given, here: given, ...more });
  const { args: names } = parsed;
  const flags = { ...parsed.flags, end: Boolean(parsed.flags.end) };
  if ([flags.all, flags.here, names.length > 0].filter(Boolean).length !== 1) {
    throw new UsageError(
      `A process, --here or --all is wanted: jobs ${command} IDENTITY | --here | --all; jobs ps lists them`,
    );
  }
  return { flags, names };
}

/**
 * The live processes that are meant: all of them, those on this machine, or each by identity, its beginning, its process
 * number or its tag.
 *
 * @throws {UsageError} when a name fits none, or several
 */
export async function chooseWorkers(store: Store, { flags, names }: AskArguments): Promise<WorkerInfo[]> {
  const live = (await store.workers.list()).filter((process) => process.alive);
  if (flags.all) return live;
  if (flags.here) return live.filter((process) => process.hostname === Deno.hostname());
  return names.map((name) => {
    const exact = live.find((process) => process.identity === name);
    const fits = exact
      ? [exact]
      : live.filter((process) =>
        process.identity.startsWith(name) || String(process.pid) === name || process.tag === name
      );
    if (fits.length === 1) return fits[0]!;
    throw new UsageError(
      fits.length === 0
        ? `No live process "${name}"; jobs ps lists them`
        : `"${name}" fits ${fits.length} processes: ${fits.map((process) => process.identity).join(", ")}`,
    );
  });
}

/**
 * Asks the processes that are meant to do something, without waiting until they have.
 *
 * @param done completes "IDENTITY …"
 */
export async function runAsk(verb: "quiet" | "resume" | "stop", asked: AskArguments, done: string): Promise<number> {
  return await withStore(asked.flags, async (store) => {
    const identities: string[] = [];
    for (const { identity } of await chooseWorkers(store, asked)) {
      if (await store.workers.send(identity, { verb })) identities.push(identity);
    }
    const count = identities.length;
    const met = count === 0 ? { outcome: "no live process" } : { target: fewOf(identities) };
    await recordAudit(store, { action: verb, count, ...met });
    if (asked.flags.json) printJson({ asked: identities });
    else print(identities.length === 0 ? "No live processes" : identities.map((one) => `${one} ${done}`).join("\n"));
    return 0;
  });
}
