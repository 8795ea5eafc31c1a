/**
 * The dashboard of a worker: `jobs run --web`. Loaded only then.
 *
 * @module
 */
import type { LoadedConfig } from "../../config/load.ts";
import type { Launcher } from "../../server/launcher.ts";
import type { MemberInfo } from "../../server/host/member.ts";
import type { MemberLink } from "../../server/host/member_link.ts";
import { logger } from "../../log/log.ts";
import { parseListenAddress } from "../../web/http/serve.ts";
import type { WorkerCounts } from "../../web/prometheus/worker_metrics.ts";
import { UsageError } from "../terminal/errors.ts";
import { type OpenWeb, openWeb, requiresLogin } from "./web_open.ts";

/**
 * Opens the dashboard of a worker.
 *
 * @throws {UsageError}
 * @throws {StoreError}
 */
export async function openBeside(
  config: LoadedConfig,
  { launcher, classes, member, peers }: {
    readonly launcher: Launcher;
    /** Identifies this worker among several of one supervisor. */
    readonly member: MemberInfo | undefined;
    readonly peers: MemberLink | undefined;
    readonly classes: readonly string[];
  },
): Promise<OpenWeb> {
  const web = await openWeb(config, addressOf(config.settings.webListen!), {
    classes,
    counts: async (): Promise<WorkerCounts[]> => [
      { process: member?.index, counts: launcher.counts() },
      ...await peers?.counts() ?? [],
    ],
    notReady: () => {
      if (!launcher.started) return "Starting: not fetching jobs yet";
      return launcher.describe().quiet ? "Quiet: not fetching jobs" : undefined;
    },
  });
  if (!requiresLogin(config.settings)) {
    logger("web").warn("No login required: every user of this machine has full access to the dashboard", {
      url: web.url,
    });
  }
  return web;
}

function addressOf(text: string) {
  try {
    return parseListenAddress(text);
  } catch (error) {
    throw new UsageError(`--web: ${(error as Error).message}`);
  }
}
