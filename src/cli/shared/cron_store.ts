/**
 * What the subcommands of `jobs cron` share.
 *
 * @module
 */
import { Client } from "../../client/client.ts";
import { Crontab } from "../../client/crontab.ts";
import { UsageError } from "../terminal/args.ts";
import { type ConfigFlags, type MissingStore, withStore } from "./store.ts";
import { traced } from "./tracing.ts";
import type { Store } from "../../store/admin/store.ts";

/** Opens the command's store for its crontab. */
export async function withCrontab<Result>(
  flags: ConfigFlags,
  use: (crontab: Crontab, store: Store) => Promise<Result>,
  missing?: MissingStore,
): Promise<Result> {
  return await traced((tracing) =>
    withStore(
      flags,
      (store, { maxPayloadBytes, sidekiqWire }) =>
        use(new Crontab({ store, client: new Client({ store, maxPayloadBytes, sidekiqWire, ...tracing }) }), store),
      missing,
    )
  );
}

/**
 * The one NAME that a subcommand takes.
 *
 * @throws {UsageError}
 */
export function oneName(command: string, args: readonly string[]): string {
  const [name, more] = args;
  if (name === undefined) throw new UsageError(`A NAME is wanted: jobs cron ${command} NAME`);
  if (more !== undefined) throw new UsageError(`Superfluous: "${more}" (a name with blanks stands in quotes)`);
  return name;
}

/**
 * How many are wanted.
 *
 * @throws {UsageError}
 */
export function countOf(text: string | undefined, standard: number, most: number): number {
  const count = Number(text ?? standard);
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw new UsageError(`--number is "${text}"; wanted: a whole number from 1 to ${most}`);
}
