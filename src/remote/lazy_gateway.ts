/**
 * The gateway of a dashboard, loaded with the first request of a worker: most dashboards have none, and need not load the modules of a
 * worker.
 *
 * @module
 */
import type { Gateway, GatewayOptions } from "./gateway.ts";

/** A gateway that is opened with its first use. */
export interface LazyGateway extends AsyncDisposable {
  /** Returns the gateway. */
  readonly open: () => Promise<Gateway>;
}

/** Returns a gateway that is not opened yet. */
export function lazyGateway(options: GatewayOptions): LazyGateway {
  let gateway: Promise<Gateway> | undefined;
  const load = async () => new (await import("./gateway.ts")).Gateway(options);
  return {
    open: () => gateway ??= load(),
    [Symbol.asyncDispose]: async () => void await (await gateway)?.[Symbol.asyncDispose](),
  };
}
