# The worker of tests/clients/worker_test.ts in Ruby.
require_relative "../../clients/ruby/jobs"

url, only = ARGV

def try(ctx, how, *rest)
  ctx.progress(50, "half")
  ctx.log.info("tries #{how}")
  case how
  when "fail" then raise TypeError, "no such account"
  when "discard" then raise Jobs::Discard, "not needed"
  when "kill" then raise Jobs::Kill, "can't work"
  when "snooze" then raise Jobs::Snooze, 0.1 if rest[0] > Time.now.to_f * 1000
  when "wait" then ctx.wait(60)
  when "ignore" then sleep(60)
  when "nap" then sleep(rest[0] / 1000.0)
  when "block"
    ending = Jobs.now + rest[0] / 1000.0
    nil while Jobs.now < ending
  when "large"
    ctx.log.info("l" * 5_000_000)
    return "x" * rest[0]
  when "huge error" then raise "e" * 5_000_000
  when "push" then return ctx.client.push("Try", ["ok"])["jid"]
  when "raw" then return ctx.payload["args"][1] == 12_345_678_901_234_567_890 ? "whole" : "cut"
  end
  { how: how, rest: rest, attempt: ctx.attempt }
end

Try = Jobs.handler(retry: 1, backoff: { type: "fixed", base: 1 }, result_ttl: "1h") { |ctx, *args| try(ctx, *args) }
Limited = Jobs.handler(retry: 0, timeout: 0.5) { |ctx| ctx.wait(60) }

handlers = only ? { only => Try } : { "Try" => Try, "Limited" => Limited }
begin
  Jobs::Worker.new(url, handlers: handlers, token: ENV["TOKEN"], concurrency: 3, shutdown_timeout: 0.5).run
rescue Jobs::Error => e
  abort JSON.generate(ts: "", level: "fatal", msg: e.message)
end
