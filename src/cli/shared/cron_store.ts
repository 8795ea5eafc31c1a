/**
 * Shared parts of the subcommands of `jobs cron`.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { Client } from "../../client/client.ts";
import { Crontab } from "../../client/crontab.ts";
import type { CrontabEntry } from "../../client/crontab_entry.ts";

import { Mask } from "../../text/mask.ts";
import { closestWord } from "../../job/suggest.ts";
import { NotFoundError, UsageError } from "../terminal/errors.ts";
import { type ConfigFlags, type MissingStore, withStore } from "./store.ts";
import { traced } from "./tracing.ts";

/** The client of a command, and its cron entries. */
export interface CrontabParts {
  readonly client: Client;
  readonly crontab: Crontab;
  readonly mask: Mask;
}

/** Opens the command's store for its cron entries. */
export async function withCrontab<Result>(
  flags: ConfigFlags,
  use: (parts: CrontabParts, store: Store) => Promise<Result>,
  missing?: MissingStore,
): Promise<Result> {
  return await traced((tracing) =>
    withStore(
      flags,
      (store, { maxPayloadBytes, sidekiqWire, webMask }) => {
        const client = new Client({ store, maxPayloadBytes, sidekiqWire, ...tracing });
        return use({ client, crontab: new Crontab({ store, client }), mask: new Mask(webMask, true) }, store);
      },
      missing,
    )
  );
}

/**
 * Returns the entry of that name.
 *
 * @throws {NotFoundError}
 */
export async function findEntry(crontab: Crontab, name: string): Promise<CrontabEntry> {
  const entry = await crontab.get(name);
  if (entry !== undefined) return entry;
  const meant = closestWord(name, (await crontab.page({ limit: 1_000 })).entries.map((one) => one.name));
  throw new NotFoundError(
    `Cron entry "${name}" not found; ${meant ? `did you mean "${meant}"?` : "see jobs cron list"}`,
  );
}

/**
 * Parses `--limit` of a subcommand.
 *
 * @throws {UsageError}
 */
export function parseCount(text: string | undefined, standard: number, max: number): number {
  const count = Number(text ?? standard);
  if (Number.isInteger(count) && count >= 1 && count <= max) return count;
  throw new UsageError(`Invalid --limit "${text}": expected a whole number from 1 to ${max}`);
}
