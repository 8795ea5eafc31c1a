/**
 * The gateway of a dashboard, loaded with the first request of a worker: most dashboards have none, and need not load the modules of a
 * worker.
 *
 * @module
 */
import type { Gateway, GatewayOptions } from "./gateway.ts";
import { GatewayClosed } from "./refusals.ts";

/** A gateway that is opened with its first use. */
export interface LazyGateway extends AsyncDisposable {
  /** Returns the gateway. @throws {GatewayClosed} */
  readonly open: () => Promise<Gateway>;
  /** Returns the dump of its workers; empty if it isn't open. */
  readonly dump: () => string[];
}

/** Returns a gateway that is not opened yet. */
export function lazyGateway(options: GatewayOptions): LazyGateway {
  let gateway: Promise<Gateway> | undefined;
  let opened: Gateway | undefined;
  let isClosed = false;
  const load = async () => {
    const { Gateway } = await import("./gateway.ts");
    // A first request that arrives while the process stops would leave a gateway that keeps it running.
    if (isClosed) throw new GatewayClosed();
    return opened = new Gateway(options);
  };
  return {
    open: () => gateway ??= load(),
    dump: () => opened?.dump() ?? [],
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await (await gateway?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}
