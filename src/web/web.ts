/**
 * The web of `jobs`: a function from requests to responses, and what lives behind it. It needs no socket; `serve.ts`
 * gives it one.
 *
 * @module
 */
import { Client, type ClientOptions } from "../client/client.ts";
import { Crontab } from "../client/crontab.ts";
import { type Clock, systemClock } from "../clock.ts";
import { logger } from "../log/log.ts";
import { newApp } from "./app.tsx";
import { Gate } from "./auth/gate.ts";
import { BodyBudget } from "./http/body.ts";
import type { Services, SettingRow } from "./services.ts";
import { LiveStats } from "./read/live_stats.ts";
import { Limiter } from "./http/limiter.ts";
import { TokenUses } from "./auth/tokens.ts";
import { Mask } from "./read/mask.ts";
import { Operations } from "./actions/operations.ts";
import { RecentAlerts } from "./read/alerts.ts";
import { RecentMetrics } from "./read/recent_metrics.ts";
import type { WorkerCounts } from "./prometheus/worker_metrics.ts";
import { CooperativeQueue } from "./http/cooperative_queue.ts";
import type { Store } from "../store/admin/store.ts";

/** How the web is set up. */
export interface WebOptions {
  /** Opened and closed by the caller. */
  readonly store: Store;
  readonly clock?: Clock;
  /** Accounts, `NAME:ROLE:SECRET` each; none: anybody may do anything, so listen on the loopback only. */
  readonly users?: readonly string[];
  /** The header in which a proxy names the user; believed only from `proxies`. */
  readonly proxyHeader?: string | undefined;
  /** Addresses of proxies. Default none: any process on this machine could claim to be one. */
  readonly proxies?: readonly string[];
  /** Nobody may act. Default false. */
  readonly readOnly?: boolean;
  /** What stands before every path, such as `/jobs`. Default nothing. */
  readonly prefix?: string;
  /** Names under which it may be asked, besides `localhost` and addresses. */
  readonly hosts?: readonly string[];
  /** How many requests per second each token may send; 0 for any number. Default 100. */
  readonly tokenRate?: number;
  /** More names whose values are secrets. */
  readonly mask?: readonly string[];
  /** The settings as loaded, to be shown. */
  readonly settings?: readonly SettingRow[];
  /** Classes that can be performed here. */
  readonly classes?: readonly string[];
  /** What this process counts of its own doing, and the others of its supervisor; answers soon. */
  readonly counts?: () => Promise<readonly WorkerCounts[]>;
  /** Why this process takes no jobs now; undefined when it does. Absent for one that would not anyway. */
  readonly notReady?: () => string | undefined;
  /** Default 1 MiB. */
  readonly maxPayloadBytes?: number;
  /** How times are written into payloads; default 7. */
  readonly sidekiqWire?: 7 | 8;
  /** Where traces are on. */
  readonly tracing?: WebTracing;
}

/** What the web needs to trace what it pushes. */
export interface WebTracing {
  readonly client: Pick<ClientOptions, "middleware" | "batchMiddleware">;
  /** Runs something as part of a span that was begun elsewhere. */
  within<Result>(carrier: Readonly<Record<string, string>>, run: () => Result): Result;
}

/** The web. */
export interface Web extends AsyncDisposable {
  /** Whether anybody is let in without a login. */
  readonly open: boolean;
  /** Addresses of proxies. */
  readonly proxies: readonly string[];
  /** Answers a request; `peer` is the address at the other end of the connection. Never rejects. */
  handle(request: Request, peer: string): Promise<Response>;
}

/**
 * Sets the web up.
 *
 * @throws {RangeError} when an account, the prefix or the like is not as it should be; the message says what is wanted
 */
export function createWeb(options: WebOptions): Web {
  const { store, clock = systemClock, prefix = "" } = options;
  if (!/^(\/[\w.~-]+)*$/.test(prefix)) {
    throw new RangeError(`Prefix "${prefix}" cannot be; wanted: a path such as /jobs, without a slash at its end`);
  }
  const log = logger("web", clock);
  const maxPayloadBytes = options.maxPayloadBytes ?? 1024 * 1024;
  const proxies = options.proxies ?? [];
  const gate = new Gate({
    users: options.users ?? [],
    proxyHeader: options.proxyHeader,
    proxies,
    onUnknownProxy: (from) =>
      log.warn("Ignored X-Forwarded-For: its sender is not in web.proxies", { from, proxies: proxies.join(" ") }),
    readOnly: options.readOnly ?? false,
    clock,
  });
  const client = new Client({
    store,
    clock,
    maxPayloadBytes,
    sidekiqWire: options.sidekiqWire ?? 7,
    ...options.tracing?.client,
  });
  const services: Services = {
    store,
    client,
    crontab: new Crontab({ store, client, clock }),
    clock,
    gate,
    tokens: new TokenUses(clock, options.tokenRate ?? 100),
    log,
    prefix,
    maxPayloadBytes,
    audit: logger("audit", clock),
    mask: new Mask(options.mask),
    feed: new LiveStats(store, clock, log),
    measures: new RecentMetrics(store, clock),
    alerts: new RecentAlerts(),
    operations: new Operations(clock, log),
    limiter: new Limiter(),
    arriving: new BodyBudget(),
    slices: new CooperativeQueue(clock),
    settings: options.settings ?? [],
    classes: options.classes ?? [],
    counts: options.counts,
    notReady: options.notReady,
  };
  const app = newApp(services, options.hosts ?? []);
  services.feed.start();
  return {
    open: gate.open,
    proxies,
    handle: async (request, peer) => {
      const answer = () => app.fetch(request, { peer });
      const asked = options.tracing && carrierOf(request.headers);
      return await (asked ? options.tracing!.within(asked, answer) : answer());
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([services.feed.close(), services.operations.close()]);
    },
  };
}

/** Of which span a request says that it is part; undefined when it says nothing. */
function carrierOf(headers: Headers): Record<string, string> | undefined {
  const traceparent = headers.get("traceparent");
  if (traceparent === null) return undefined;
  const tracestate = headers.get("tracestate");
  return { traceparent, ...(tracestate !== null && { tracestate }) };
}
