# The worker of tests/clients/steps_test.ts in Ruby.
require_relative "../../clients/ruby/jobs"

URL, NOTES = ARGV
OPTIONS = { retry: 0, result_ttl: "1h" }.freeze

def note(text)
  File.write(NOTES, "#{text}\n", mode: "a")
end

order = Jobs.handler(**OPTIONS) do |ctx, id|
  card = ctx.step("charge") do |step|
    note("charge #{step.attempt}")
    { key: step.idempotency_key == "#{ctx.jid}:charge", cents: id }
  end
  ctx.step("flaky", retry: 3, backoff: 0.01) do |step|
    note("flaky #{step.attempt}")
    raise TypeError, "not yet" if step.attempt < 3
  end
  ctx.sleep("cool down", 0.05)
  answer = ctx.wait_for("approval", key: "order-#{id}", timeout: "1h")
  begin
    ctx.step("ship", retry: 0) { raise TypeError, "out of stock" }
  rescue Jobs::StepFailed => e
    undone = ctx.step("refund") do
      note("refund")
      e.kind
    end
  end
  child = ctx.run("invoice", "Invoice", [id], give_up_after: "1h", fields: { tenant: "acme" })
  seen = []
  count = ctx.each("lines", ->(after) { [1, 2, 3].drop(after || 0) }) { |line| seen << line }
  { card: card, answer: answer, undone: undone, child: child, count: count, sum: seen.sum }
end

invoice = Jobs.handler(**OPTIONS) { |ctx, id| "invoice #{id} #{ctx.attempt} #{ctx.payload['tenant']}" }
member = Jobs.handler(**OPTIONS) do |ctx, *args|
  next "added" if args.any?

  ctx.batch.add("Member", [1])
  !ctx.batch.id.empty?
end
first = Jobs.handler(**OPTIONS) { 7 }
second = Jobs.handler(**OPTIONS) { |ctx| { node: ctx.flow.node, results: ctx.flow.results } }
tell = Jobs.handler(**OPTIONS) do |ctx, count|
  1.upto(count) { |i| ctx.stream(i < count ? "line #{i}" : { last: i }) }
  "told"
end
slow = Jobs.handler(**OPTIONS) do |ctx|
  ctx.step("slow") do |step|
    note("slow #{step.attempt}")
    sleep(1.5)
  end
  "slow"
end

handlers = { Order: order, Invoice: invoice, Member: member, First: first, Second: second, Tell: tell, Slow: slow }
Jobs::Worker.new(URL, handlers: handlers, token: ENV["TOKEN"]).run
