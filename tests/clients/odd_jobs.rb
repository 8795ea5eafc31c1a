# A worker for odd_jobs_test.ts. Its only processor performs the next job if the one before has ended.
require_relative "../../clients/ruby/jobs"

class RaisesMessage < StandardError
  def message
    raise "no message"
  end
end

def report(ctx, *args)
  ctx.progress(*args)
  # A heartbeat reports it.
  sleep 1.5
  nil
end

BYTES = "caf\xE9".b

HANDLERS = {
  "Echo" => ->(_, value) { value },
  "raises an error whose message raises" => ->(_) { raise RaisesMessage },
  "raises an error whose cause has no message" => lambda do |_|
    raise RaisesMessage
  rescue RaisesMessage
    raise "outer"
  end,
  "raises in a step what has no message" => ->(ctx) { ctx.step("one") { raise RaisesMessage } },
  "raises an error with bytes" => ->(_) { raise BYTES },
  "raises an error with bytes that are UTF-8" => ->(_) { raise "café".b },
  "logs bytes" => lambda do |ctx|
    ctx.log.info(BYTES, "k\xE9".b.to_sym => "v\xE9".b, n: 1)
    sleep 1.5
    nil
  end,
  "reports a note of bytes" => ->(ctx) { report(ctx, 1, BYTES) },
  "reports a long note" => ->(ctx) { report(ctx, 1, "n" * 5_000_000) },
  "reports a fraction" => ->(ctx) { report(ctx, Rational(1, 2)) },
  "reports a large number" => ->(ctx) { report(ctx, 10**300) },
  "traps the signals of its worker" => lambda do |_|
    %w[TERM INT TTIN].each { |name| Signal.trap(name) {} }
    # The next heartbeat.
    sleep 1.5
    "trapped"
  end,
  "ends its thread" => ->(_) { Thread.current.kill },
  "ends a process that it has forked" => lambda do |_|
    pid = fork { sleep }
    Process.kill("TERM", pid)
    Process.wait2(pid)[1].termsig
  end
}.freeze

handlers = HANDLERS.transform_values { |handler| Jobs.handler(retry: 0, result_ttl: "1h", &handler) }

# Errors of another library, and of the platform.
module Foreign
  %w[Discard Kill Snooze Cancelled StepFailed].each { |name| const_set(name, Class.new(StandardError)) }
  ERRORS = [*constants.map { |name| const_get(name) }, Interrupt, SystemExit].to_h { |kind| [kind.name.split("::").last, kind] }
end

again = Foreign::ERRORS.to_h { |name, kind| ["fails by a foreign #{name}", ->(_) { raise kind, "foreign" }] }.merge(
  "fails by a foreign StepFailed in a step" => ->(ctx) { ctx.step("one") { raise Foreign::StepFailed, "foreign" } },
  "has a step that has failed for good" => ->(ctx) { ctx.step("one", retry: 0) { raise "broken" } }
)
handlers.merge!(again.transform_values do |handler|
  Jobs.handler(retry: 1, backoff: { type: "fixed", base: 0.05 }, result_ttl: "1h", &handler)
end)

def log_and_fail(ctx)
  ctx.log.debug("not printed")
  ctx.log.info("importing", file: "a.csv", ts: "x", level: "x")
  raise KeyError, "intended"
end

handlers["logs and fails"] = Jobs.handler(retry: 1) { |ctx| log_and_fail(ctx) }
handlers["logs and fails, hushed"] = Jobs.handler(retry: 0, log_level: "error") { |ctx| log_and_fail(ctx) }
Jobs::Worker.new(ARGV[0], handlers: handlers, token: ENV["TOKEN"], concurrency: 1).run
