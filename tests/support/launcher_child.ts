/**
 * A worker as `jobs run` starts it, with another shutdown budget: `launcher_child.ts STORE SHUTDOWN_BUDGET_MS
 * HANDLERS`. One processor, and a shutdown timeout of a tenth of a second. No worker counts as offline.
 *
 * @module
 */
import { systemClock } from "../../src/clock.ts";
import { defaultSettings } from "../../src/config/settings.ts";
import { loadHandlers } from "../../src/handlers/load.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { logger, openLog } from "../../src/log/log.ts";
import { Launcher } from "../../src/server/launcher.ts";
import { listenToSignals } from "../../src/server/control/signals.ts";
import { openStore } from "../../src/store/open.ts";

// Class metrics are stored in the last seconds of a minute, and at the end. A minute begins here, so that it is at the end.
const late = systemClock.now() % 60_000;
const clock = { ...systemClock, now: () => systemClock.now() - late };

const [storeUrl, shutdownBudgetMs, handlers] = Deno.args as [string, string, string];
const registry = new Registry();
await loadHandlers([handlers], registry);
using _log = openLog({ format: "json" });
await using store = await openStore(storeUrl);
const launcher = new Launcher({
  store,
  storeUrl,
  registry,
  settings: { ...defaultSettings(), concurrency: 1, shutdownTimeoutMs: 100 },
  shutdownBudgetMs: Number(shutdownBudgetMs),
  clock,
});
using _signals = listenToSignals(launcher.inbox);
await launcher.start();
logger("run").info("Ready");
await launcher.finished;
if (launcher.failure) Deno.exitCode = 1;
