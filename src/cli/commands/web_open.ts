/**
 * Opens the dashboard, for `jobs web` and `jobs run --web`. It has a separate connection to the store, so that reading never
 * delays jobs.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { Settings } from "../../config/settings.ts";
import { lazyGateway } from "../../remote/lazy_gateway.ts";
import type { Store } from "../../store/admin/store.ts";
import { logger } from "../../log/log.ts";
import { openStore } from "../../store/open.ts";
import { openTracing } from "../../tracing/tracing.ts";
import { type Address, serve, urlOf } from "../../web/http/serve.ts";
import { createWeb, type Web, type WebOptions } from "../../web/web.ts";
import { webOptions, webPrefix } from "../../web/web_settings.ts";
import { UsageError } from "../terminal/errors.ts";
import { settingRows } from "../shared/setting_rows.ts";
import { storeOptions, storeUrl } from "../shared/store.ts";

/** An open dashboard. */
export interface OpenWeb extends AsyncDisposable {
  /** Its address. */
  readonly url: string;
  /** Returns the dump of the workers of other programs, as lines of text. */
  readonly dump: () => string[];
}

/** Returns whether the dashboard has users, or a proxy that names them. */
export function requiresLogin({ webUsers, webProxyHeader }: Settings): boolean {
  return webUsers.length > 0 || webProxyHeader !== undefined;
}

/** The pause between two attempts to listen. */
const LISTEN_INTERVAL_MS = 500;

/**
 * Listens on an address. After a restart, the worker before may still be stopping and have it: waits for that one.
 *
 * @throws {RangeError} if the address is unavailable
 */
async function serveWhenFree(
  web: Web,
  address: Address,
  store: Pick<Store, "workers">,
  { shutdownTimeoutMs }: Settings,
): ReturnType<typeof serve> {
  const until = systemClock.monotonic() + 2 * shutdownTimeoutMs;
  for (let attempt = 0;; attempt++) {
    try {
      return await serve(web, address);
    } catch (error) {
      const { code } = (error as { cause?: { code?: unknown } }).cause ?? {};
      if (code !== "EADDRINUSE" || systemClock.monotonic() > until) throw error;
      const workers = await store.workers.list();
      const old = workers.find(({ alive, quiet, hostname }) => alive && quiet && hostname === Deno.hostname());
      if (old === undefined) throw error;
      if (attempt === 0) {
        logger("web").warn("Dashboard's address is in use, waiting for a worker that stops", {
          worker: old.id,
          url: urlOf(address, ""),
        });
      }
      await systemClock.sleep(LISTEN_INTERVAL_MS);
    }
  }
}

/**
 * Opens the dashboard.
 *
 * @throws {UsageError} if it can't listen there, or a user is invalid
 * @throws {StoreError}
 */
export async function openWeb(
  config: LoadedConfig,
  address: Address,
  more: Partial<WebOptions> = {},
): Promise<OpenWeb> {
  const { settings } = config;
  await using stack = new AsyncDisposableStack();
  const log = logger("tracing");
  const tracing = stack.use(await openTracing({ warn: (message) => log.warn(message) }));
  const store = stack.use(
    await openStore(storeUrl(settings), {
      ...storeOptions(settings),
      log: (level, message) => logger("store")[level](message),
    }),
  );
  const gateway = stack.use(lazyGateway({ store, settings, clock: systemClock }));
  try {
    const web = stack.use(createWeb({
      ...webOptions(settings, address),
      store,
      settings: settingRows(config),
      gateway: gateway.open,
      ...(tracing && { tracing }),
      ...more,
    }));
    const server = stack.use(await serveWhenFree(web, address, store, settings));
    const open = stack.move();
    const url = urlOf(server.address, webPrefix(settings));
    return { url, dump: gateway.dump, [Symbol.asyncDispose]: () => open.disposeAsync() };
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}
