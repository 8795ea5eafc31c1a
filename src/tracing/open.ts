/**
 * Opens tracing when it is on: the middleware, on the tracer provider of the program or on a new one.
 *
 * @module
 */
import { context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { systemClock } from "../clock.ts";
import { VERSION } from "../version.ts";
import type { Sdk } from "./sdk.ts";
import { performSpans, pushSpans, stepSpan } from "./spans.ts";
import { hasProvider, type Tracing, type TracingOptions } from "./tracing.ts";

/** Disposing waits at most this long for the remaining spans. */
const FLUSH_TIMEOUT_MS = 2_000;
const BRIEF_FLUSH_TIMEOUT_MS = 1_000;

/** Receives the reasons why spans are not exported. */
interface SdkUser {
  readonly warn: (message: string) => void;
}

/** The SDK, which is one for the whole program, and those that use it: several workers may run in one program. */
let shared: { readonly sdk: Sdk; readonly users: Set<SdkUser> } | undefined;

/** Returns the SDK, for one more user; undefined if the program has a tracer provider already. */
async function acquireSdk(user: SdkUser, brief: boolean): Promise<Sdk | undefined> {
  const isForeign = () => shared === undefined && hasProvider();
  if (isForeign()) return undefined;
  const { startSdk } = await import("./sdk.ts");
  if (isForeign()) return undefined;
  if (shared === undefined) {
    const users = new Set([user]);
    shared = { sdk: startSdk((message) => users.values().next().value?.warn(message), brief), users };
  }
  shared.users.add(user);
  return shared.sdk;
}

/** Exports the remaining spans. The last user stops the SDK. */
async function releaseSdk(sdk: Sdk, user: SdkUser): Promise<void> {
  if (shared?.sdk !== sdk || !shared.users.has(user)) return;
  if (shared.users.size > 1) {
    shared.users.delete(user);
    return await sdk.flush();
  }
  shared = undefined;
  await sdk.stop();
}

/** Sets up the middleware and, unless the program has a tracer provider already, the export of spans. */
export async function openSpans(options: TracingOptions): Promise<Tracing> {
  const { style = "link", warn = () => {}, brief = false } = options;
  const flushMs = brief ? BRIEF_FLUSH_TIMEOUT_MS : FLUSH_TIMEOUT_MS;
  const user = { warn };
  const sdk = await acquireSdk(user, brief);
  const tracer = trace.getTracer("jobs", VERSION);
  const performed = performSpans(tracer, style);
  return {
    client: pushSpans(tracer),
    perform: performed.middleware,
    step: stepSpan(tracer),
    within: (carrier, run) => context.with(propagation.extract(ROOT_CONTEXT, carrier), run),
    async [Symbol.asyncDispose]() {
      performed.end();
      if (sdk === undefined) return;
      const ended = new AbortController();
      const late = systemClock.sleep(flushMs, ended.signal).then(() => {
        if (!ended.signal.aborted) warn(`Some traces were not exported within ${flushMs} ms and are lost`);
      });
      await Promise.race([releaseSdk(sdk, user).finally(() => ended.abort()), late]);
    },
  };
}
