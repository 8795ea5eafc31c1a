/**
 * Handlers, as `jobs run examples/handlers.js` loads them. Each exported function performs the jobs of the class that
 * has its name. Plain JavaScript: no build step, no import.
 */

/** Quick: `jobs push Greet bob`. */
export function Greet(ctx, name = "you") {
  ctx.log.info(`Hello ${name}`);
}

/** Slow, reports its progress, and stops when it is cancelled: `jobs push Resize cat.png 5`. */
export async function Resize(ctx, file, seconds = 1) {
  const steps = 10;
  for (let step = 1; step <= steps; step++) {
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000 / steps));
    ctx.signal.throwIfAborted();
    ctx.progress(step * 100 / steps, `percent of ${file}`);
  }
}
Resize.options = { queue: "images" };

/** Fails twice, then succeeds. The default backoff waits at least 15 seconds; this one waits one. */
export function Flaky(ctx, url) {
  if (ctx.attempt < 3) throw new Error(`${url} answered 503`);
}
Flaky.options = { retryIn: () => 1, tags: ["network"] };

/** Always fails, without a retry: ends in the dead set. */
export function Doomed() {
  throw new TypeError("There is no such account");
}
Doomed.options = { retry: 0 };

/** For names that aren't JavaScript identifiers. */
export const handlers = {
  "Billing::InvoiceJob": (ctx, { customer, cents }) => {
    ctx.log.info("Invoiced", { customer, cents });
  },
};
