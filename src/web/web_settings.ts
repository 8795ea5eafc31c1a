/**
 * The options of a dashboard that come from the settings, for `jobs web`, `jobs run --web` and embedded workers.
 *
 * @module
 */
import type { Settings } from "../config/settings.ts";
import type { Address } from "./http/serve.ts";
import type { WebOptions } from "./web.ts";

/** Returns the prefix of the dashboard's paths, without a slash at its end. */
export function webPrefix({ webPrefix = "" }: Settings): string {
  return webPrefix.replace(/\/+$/, "");
}

/** Returns the options of a dashboard that listens at `address`. */
export function webOptions(settings: Settings, address: Address) {
  return {
    prefix: webPrefix(settings),
    users: settings.webUsers,
    readOnly: settings.webReadOnly,
    hosts: [...settings.webHosts, address.host],
    proxyHeader: settings.webProxyHeader,
    proxies: settings.webProxies,
    tokenRate: settings.webTokenRate,
    mask: settings.webMask,
    traceUrl: settings.webTraceUrl,
    maxPayloadBytes: settings.maxPayloadBytes,
    sidekiqWire: settings.sidekiqWire,
  } satisfies Partial<WebOptions>;
}
