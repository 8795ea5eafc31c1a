/**
 * Opens the dashboard, for `jobs web` and `jobs run --web`. It has a separate connection to the store, so that reading never
 * delays jobs.
 *
 * @module
 */
import type { LoadedConfig } from "../../config/load.ts";
import { logger } from "../../log/log.ts";
import { openStore } from "../../store/open.ts";
import { openTracing } from "../../tracing/tracing.ts";
import { type Address, serve, urlOf } from "../../web/http/serve.ts";
import { createWeb, type WebOptions } from "../../web/web.ts";
import { webOptions, webPrefix } from "../../web/web_settings.ts";
import { UsageError } from "../terminal/errors.ts";
import { settingRows } from "../shared/setting_rows.ts";
import { storeOptions, storeUrl } from "../shared/store.ts";

/** An open dashboard. */
export interface OpenWeb extends AsyncDisposable {
  /** Its address. */
  readonly url: string;
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
  try {
    const web = stack.use(createWeb({
      ...webOptions(settings, address),
      store,
      settings: settingRows(config),
      ...(tracing && { tracing }),
      ...more,
    }));
    const server = stack.use(await serve(web, address));
    const open = stack.move();
    return { url: urlOf(server.address, webPrefix(settings)), [Symbol.asyncDispose]: () => open.disposeAsync() };
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}
