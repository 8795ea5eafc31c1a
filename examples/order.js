/**
 * A workflow as code: an order that is charged, reserved and confirmed by mail, waits for a person, ships its lines, and
 * asks for feedback a week later. Every step is done once, through failures, deploys and crashes.
 *
 *   jobs run examples/order.js
 *   jobs push Order 42
 *   jobs steps JID
 *   jobs signal order:42 '{"approved": true}'
 */

/** Stands for a payment provider: one charge per idempotency key. */
export const shop = {
  charge: (id, { idempotencyKey }) => ({ id: `charge-${id}`, idempotencyKey, cents: 4200 }),
  refund: (charge) => `refunded ${charge.id}`,
  reserve: (id) => ({ shelf: `A${id}` }),
  release: (reservation) => `released ${reservation.shelf}`,
  mail: (to, text) => `to ${to}: ${text}`,
  lines: (id, after = 0) => [1, 2, 3].filter((line) => line > after).map((line) => ({ order: id, line })),
  ship: (line) => `shipped ${line.order}/${line.line}`,
};

/** One order. */
export async function Order(ctx, id) {
  const charge = await ctx.step("charge", ({ idempotencyKey }) => shop.charge(id, { idempotencyKey }));

  let reservation;
  try {
    // Three attempts of this step; then it has failed, in every later attempt of the job too.
    reservation = await ctx.step("reserve", () => shop.reserve(id), { retry: 2, backoff: "5s", timeout: "30s" });
  } catch (error) {
    if (error.name !== "StepFailed") throw error; // a sleep or a retry ends the attempt by an error
    await ctx.step("refund", () => shop.refund(charge));
    return "refunded: out of stock";
  }

  await ctx.step("mail", () => shop.mail(id, "Thank you"));
  await ctx.sleep("cooling off", "2d");

  const approval = { key: `order:${id}`, timeout: "7d", example: { approved: true } };
  const answer = await ctx.waitFor("approval", approval);
  if (!answer?.approved) {
    await Promise.all([
      ctx.step("refund", () => shop.refund(charge)),
      ctx.step("release", () => shop.release(reservation)),
    ]);
    return answer ? "refunded: rejected" : "refunded: no answer";
  }

  const invoice = await ctx.run("invoice", "Invoice", [id, charge.cents]);
  await ctx.each("ship", (after) => shop.lines(id, after), (line) => shop.ship(line), { cursor: ({ line }) => line });
  await ctx.sleep("a week", "7d");
  await ctx.step("survey", () => shop.mail(id, "How was it?"));
  return `done with ${invoice}`;
}

/** The child: a job like any other, with a queue and retries. */
export function Invoice(_ctx, id, cents) {
  return `invoice ${id} over ${cents}`;
}
Invoice.options = { queue: "invoices", retry: 5 };
