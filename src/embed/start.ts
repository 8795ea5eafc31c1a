/**
 * Starts a worker inside a program, optionally with its dashboard.
 *
 * @module
 */
import { systemClock } from "../clock.ts";
import { ConfigError } from "../config/load.ts";
import { readServerSettings, type ServerSettings } from "../config/program_settings.ts";
import type { Settings } from "../config/settings.ts";
import {
  type Launching,
  type Server,
  type ServerOptions as WorkerOptions,
  startServer as start,
} from "../server/start.ts";

/**
 * Options of {@linkcode startServer}.
 *
 * @example
 * ```ts
 * import { defineJob, type ServerOptions, startServer } from "@jobs/jobs";
 *
 * const options: ServerOptions = {
 *   store: "sqlite::memory:",
 *   jobs: [defineJob("Add", (_ctx, a: number, b: number) => a + b)],
 *   settings: { concurrency: 5, shutdownTimeout: "10s" },
 *   log: false,
 * };
 * await using server = await startServer(options);
 * ```
 */
export interface ServerOptions extends WorkerOptions {
  /** Settings that differ from their defaults, as in a configuration file: `{ concurrency: 5, shutdownTimeout: "1m" }`. */
  readonly settings?: ServerSettings;
  /**
   * Serves the dashboard, the HTTP API, /metrics, /healthz and /readyz at this address: `127.0.0.1:7433`, or a port. Port 0
   * is any free port; `server.url` has it. An address of other machines requires `settings.web.users`. Default: none.
   */
  readonly web?: string | number;
}

/**
 * Starts a worker in this program; resolves when it takes jobs.
 *
 * @example
 * ```ts
 * import { defineJob, startServer } from "@jobs/jobs";
 *
 * const Add = defineJob("Add", (_ctx, a: number, b: number) => a + b, { result_ttl: "1h" });
 * await using server = await startServer({ store: "sqlite::memory:", jobs: [Add], web: "127.0.0.1:0", log: false });
 * const jid = await server.client.push(Add, [1, 2]);
 * const ended = await server.client.result(jid!);
 * const page = await (await fetch(`${server.url}healthz`)).text();
 * if (ended?.result !== 3 || page !== "ok\n") throw new Error("unexpected");
 * ```
 *
 * @throws {ConfigError} if a setting is unknown, invalid or without effect, or the address is invalid
 * @throws {StoreError} if the store cannot be opened
 * @throws {HandlerError} if two jobs have the same class
 * @throws {CrontabError} if a cron entry is invalid
 * @throws {LogError} if the log cannot be opened, or the program has configured LogTape and passes `log` as well
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { web, ...rest } = options;
  const settings = readServerSettings(options.settings ?? {}, {
    hasWeb: web !== undefined,
    isSilent: rest.log === false,
  });
  if (web === undefined) return await start({ ...rest, settings });
  return await start({ ...rest, settings }, (launching, settings) => openDashboard(String(web), launching, settings));
}

/** Opens the dashboard on the worker's store. Loads the web modules only here, because most workers have no dashboard. */
async function openDashboard(text: string, { launcher, store, stack }: Launching, settings: Settings): Promise<string> {
  const [{ createWeb }, { parseListenAddress, serve, urlOf }, { webOptions, webPrefix }, { lazyGateway }] =
    await Promise.all([
      import("../web/web.ts"),
      import("../web/http/serve.ts"),
      import("../web/web_settings.ts"),
      import("../remote/lazy_gateway.ts"),
    ]);
  try {
    const address = parseListenAddress(text);
    const gateway = stack.use(lazyGateway({ store, settings, clock: systemClock }));
    const web = stack.use(createWeb({
      ...webOptions(settings, address),
      store,
      gateway: gateway.open,
      classes: launcher.classes,
      counts: () => Promise.resolve([{ process: undefined, counts: launcher.counts() }]),
      notReady: () => {
        if (!launcher.started) return "Starting: not fetching jobs yet";
        return launcher.describe().quiet ? "Quiet: not fetching jobs" : undefined;
      },
    }));
    const server = stack.use(await serve(web, address));
    return urlOf(server.address, webPrefix(settings));
  } catch (error) {
    if (error instanceof RangeError) throw new ConfigError(`Invalid option "web" "${text}": ${error.message}`);
    throw error;
  }
}
