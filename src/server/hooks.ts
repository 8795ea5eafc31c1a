/**
 * Calls hooks.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Hooks } from "../handlers/hooks.ts";
import { describeError } from "../job/describe_error.ts";
import type { Log } from "../log/log.ts";

/** The worker waits for a hook this long. */
export const HOOK_TIMEOUT_MS = 10_000;

/** Calls a hook, and waits for its end, but no longer than {@linkcode HOOK_TIMEOUT_MS}. Always resolves. */
export async function callHook(
  { log, clock }: { readonly log: Log; readonly clock: Clock },
  name: keyof Hooks,
  call: () => unknown,
): Promise<void> {
  const over = new AbortController();
  const late = clock.sleep(HOOK_TIMEOUT_MS, over.signal).then(() => {
    if (!over.signal.aborted) log.error("Hook takes too long", { hook: name, seconds: HOOK_TIMEOUT_MS / 1_000 });
  });
  await Promise.race([guarded(log, name, call), late]);
  over.abort();
}

async function guarded(log: Log, name: keyof Hooks, call: () => unknown): Promise<void> {
  try {
    await call();
  } catch (error) {
    const { class: errorClass, message, stack } = describeError(error);
    log.error("Hook failed", { hook: name, error: `${errorClass}: ${message}`, stack: stack.join("\n") });
  }
}
