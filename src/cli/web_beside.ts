/**
 * The dashboard beside the jobs: `jobs run --web`. Loaded only then.
 *
 * @module
 */
import type { LoadedConfig } from "../config_load.ts";
import type { Launcher } from "../server/launcher.ts";
import { parseAddress } from "../web/serve.ts";
import { UsageError } from "./args.ts";
import { type OpenWeb, openWeb } from "./web_open.ts";

/**
 * Opens the dashboard of a server.
 *
 * @throws {UsageError}
 * @throws {StoreError}
 */
export async function openBeside(
  config: LoadedConfig,
  { launcher, classes }: {
    readonly launcher: Launcher;
    readonly classes: readonly string[];
  },
): Promise<OpenWeb> {
  return await openWeb(config, addressOf(config.settings.webListen!), {
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
