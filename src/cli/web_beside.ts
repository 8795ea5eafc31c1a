/**
 * The dashboard beside the jobs: `jobs run --web`. Loaded only then.
 *
 * @module
 */
import { systemClock } from "../clock.ts";
import type { LoadedConfig } from "../config_load.ts";
import type { Launcher } from "../server/launcher.ts";
import { Meter } from "../web/meter.ts";
import { parseAddress } from "../web/serve.ts";
import { UsageError } from "./args.ts";
import { type OpenWeb, openWeb } from "./web_open.ts";

/** What counts the jobs of this process. */
export function newMeter(): Meter {
  return new Meter(systemClock);
}

/**
 * Opens the dashboard of a server.
 *
 * @throws {UsageError}
 * @throws {StoreError}
 */
export async function openBeside(
  config: LoadedConfig,
  { meter, launcher, classes }: {
    readonly meter: Meter;
    readonly launcher: Launcher;
    readonly classes: readonly string[];
  },
): Promise<OpenWeb> {
  return await openWeb(config, addressOf(config.settings.webListen!), {
    meter,
    classes,
    counts: () => launcher.counts(),
    notReady: () => launcher.describe().quiet ? "Quiet: it takes no jobs" : undefined,
  });
}

function addressOf(text: string) {
  try {
    return parseAddress(text);
  } catch (error) {
    throw new UsageError(`--web: ${(error as Error).message}`);
  }
}
