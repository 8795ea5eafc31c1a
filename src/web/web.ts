/**
 * The dashboard and API as a function from requests to responses, and the composition of its services. `serve.ts` puts it
 * on a socket.
 *
 * @module
 */
import { Client, type ClientOptions } from "../client/client.ts";
import { Crontab } from "../client/crontab.ts";
import { type Clock, systemClock } from "../clock.ts";
import { logger } from "../log/log.ts";
import { AuditBounds, recordRefusedLogin } from "./audit.ts";
import { newApp } from "./app.tsx";
import { Gate } from "./auth/gate.ts";
import { BodyBudget } from "./http/body.ts";
import { EventStreams } from "./http/event_streams.ts";
import type { Services, SettingRow } from "./services.ts";
import { KnownQueues } from "./read/known_queues.ts";
import { LiveStats } from "./read/live_stats.ts";
import { Limiter } from "./http/limiter.ts";
import { TokenUses } from "./auth/tokens.ts";
import { Mask } from "../text/mask.ts";
import { Operations } from "./operations.ts";
import { AlertNotices } from "./alert_notices.ts";
import { RecentAlerts } from "./read/recent_alerts.ts";
import { StuckBatches } from "./read/stuck_batches.ts";
import { RecentMetrics } from "./read/recent_metrics.ts";
import type { Gateway } from "../remote/gateway.ts";
import type { WorkerCounts } from "./prometheus/worker_metrics.ts";
import { CooperativeQueue } from "./http/cooperative_queue.ts";
import type { Store } from "../store/admin/store.ts";

/** Options of {@linkcode createWeb}. */
export interface WebOptions {
  /** Opened and closed by the caller. */
  readonly store: Store;
  readonly clock?: Clock;
  /** Accounts, `NAME:ROLE:SECRET` each. Without any, no login is required: listen on the loopback only. */
  readonly users?: readonly string[];
  /** The header in which a proxy names the user; ignored except from `proxies`. */
  readonly proxyHeader?: string | undefined;
  /** Addresses of proxies. Default none: any process on this machine could claim to be one. */
  readonly proxies?: readonly string[];
  /** Allows no actions. Default false. */
  readonly readOnly?: boolean;
  /** Precedes every path, for example `/jobs`. Default empty. */
  readonly prefix?: string;
  /** Host names of the dashboard, in addition to `localhost` and addresses. */
  readonly hosts?: readonly string[];
  /** Requests per second that each token may send; 0: unlimited. Default 100. */
  readonly tokenRate?: number;
  /** Names of fields whose values are secrets, in addition to the built-in ones. */
  readonly mask?: readonly string[];
  /** The URL of a trace in a tracing UI, with `{traceId}`. Pages of traced jobs link to it. */
  readonly traceUrl?: string | undefined;
  /** The settings as loaded, for their page. */
  readonly settings?: readonly SettingRow[];
  /** Classes that this process has handlers for. */
  readonly classes?: readonly string[];
  /** Returns the counters of this process and of the others under its supervisor, within a few seconds. */
  readonly counts?: () => Promise<readonly WorkerCounts[]>;
  /** Returns why this process fetches no jobs now; undefined if it does. Absent in a process that never does. */
  readonly notReady?: () => string | undefined;
  /** Returns the workers of other programs, made by the first one. */
  readonly gateway?: () => Promise<Gateway>;
  /** Default 1 MiB. */
  readonly maxPayloadBytes?: number;
  /** The Sidekiq version whose time format payloads have. Default 7. */
  readonly sidekiqWire?: 7 | 8;
  /** Present if tracing is on. */
  readonly tracing?: WebTracing;
}

/** Traces the dashboard's pushes. */
export interface WebTracing {
  readonly client: Pick<ClientOptions, "middleware" | "batchMiddleware">;
  /** Runs a function within the span that `carrier` names. */
  within<Result>(carrier: Readonly<Record<string, string>>, run: () => Result): Result;
}

/** The dashboard and API. */
export interface Web extends AsyncDisposable {
  /** Whether no login is required. */
  readonly open: boolean;
  /** Addresses of proxies. */
  readonly proxies: readonly string[];
  /** The method and the pattern of each route, such as `GET /jobs/:jid`. */
  readonly routes: readonly string[];
  /** Answers a request; `peer` is the address at the other end of the connection. Never rejects. */
  handle(request: Request, peer: string): Promise<Response>;
}

/**
 * Creates the dashboard and API, and starts to follow the counts of the store. Dispose of the result to stop.
 *
 * @throws {RangeError} if an account, the proxy settings, the prefix or the trace URL are invalid
 */
export function createWeb(options: WebOptions): Web {
  const { store, clock = systemClock, prefix = "" } = options;
  if (!/^(\/[\w.~-]+)*$/.test(prefix)) {
    throw new RangeError(`Invalid prefix "${prefix}": expected a path such as /jobs, without a slash at its end`);
  }
  if (options.traceUrl !== undefined && !/^https?:\/\/[^\s]*\{traceId\}/.test(options.traceUrl)) {
    throw new RangeError(
      `Invalid web.traceUrl "${options.traceUrl}": expected a URL with {traceId}, for example https://jaeger.example.com/trace/{traceId}`,
    );
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
    onRefused: (login) => void recordRefusedLogin(services, login),
    readOnly: options.readOnly ?? false,
    clock,
    store: store.sessions,
    prefix,
  });
  const client = new Client({
    store,
    clock,
    maxPayloadBytes,
    sidekiqWire: options.sidekiqWire ?? 7,
    ...options.tracing?.client,
  });
  const slices = new CooperativeQueue(clock);
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
    auditBounds: new AuditBounds(clock),
    mask: new Mask(options.mask),
    feed: new LiveStats(store, clock, log, gate.sessions),
    eventStreams: new EventStreams(clock, gate.sessions),
    queues: new KnownQueues(store, clock),
    measures: new RecentMetrics(store, clock),
    alerts: new RecentAlerts(),
    stuck: new StuckBatches(),
    operations: new Operations(clock, log),
    limiter: new Limiter(),
    arriving: new BodyBudget(),
    slices,
    settings: options.settings ?? [],
    classes: options.classes ?? [],
    traceUrl: options.traceUrl,
    counts: options.counts,
    notReady: options.notReady,
    gateway: options.gateway,
  };
  const app = newApp(services, options.hosts ?? []);
  services.feed.start();
  const notices = new AlertNotices({ store, clock, log, readAlerts: () => services.alerts.read(services) });
  notices.start();
  return {
    open: gate.open,
    proxies,
    routes: app.routes.filter(({ method }) => method !== "ALL").map(({ method, path }) => `${method} ${path}`),
    handle: async (request, peer) => {
      const answer = () => app.fetch(request, { peer });
      const carrier = options.tracing && carrierOf(request.headers);
      return await (carrier ? options.tracing!.within(carrier, answer) : answer());
    },
    async [Symbol.asyncDispose]() {
      services.eventStreams.close();
      await Promise.all([services.feed.close(), notices.close(), services.operations.close()]);
    },
  };
}

/** Returns the headers that name the span of a request; undefined without any. */
function carrierOf(headers: Headers): Record<string, string> | undefined {
  const traceparent = headers.get("traceparent");
  if (traceparent === null) return undefined;
  const tracestate = headers.get("tracestate");
  return { traceparent, ...(tracestate !== null && { tracestate }) };
}
