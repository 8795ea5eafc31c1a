# A worker in Ruby that obeys the command language of the conformance table (docs/reference/worker-protocol.md).
require "fiddle"
require_relative "../../clients/ruby/jobs"

USLEEP = Fiddle::Function.new(Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true)

def cause
  raise ArgumentError, "inner"
rescue ArgumentError
  raise TypeError, "outer ü"
end

def perform(ctx, command, *args)
  case command
  when "echo" then { args: args, attempt: ctx.attempt, class: ctx.class_name, queue: ctx.queue, jid: ctx.jid }
  when "raw" then ctx.raw
  when "nothing" then nil
  when "fail" then raise args[0]
  when "cause" then cause
  when "discard" then raise Jobs::Discard, args[0]
  when "kill" then raise Jobs::Kill, args[0]
  when "snooze"
    raise Jobs::Snooze, args[0] if Time.now.to_f * 1000 < args[1]

    ctx.attempt
  when "odd result" then Float::INFINITY
  when "odd progress" then ctx.progress("half")
  when "text" then "x" * args[0]
  when "log"
    args[0].times { ctx.log.info("l" * args[1]) }
    nil
  when "progress"
    ctx.progress(*args)
    ctx.log.info("it is half", n: 1)
  when "push" then ctx.client.push("Try", args, queue: ctx.queue, result_ttl: "1h")["jid"]
  when "wait" then ctx.wait(args[0])
  when "sleep" then sleep(args[0])
  when "block"
    sleep(args[2])
    ctx.log.info("blocks")
    File.write(args[1], "#{ctx.jid}\n", mode: "a")
    # Calls of C code that hold the interpreter's lock.
    USLEEP.call(100_000) until File.exist?(args[0])
  when "die" then Process.kill("KILL", Process.pid)
  when "wait until"
    File.write(args[1], "#{ctx.jid}\n", mode: "a") if args[1]
    sleep(0.02) until File.exist?(args[0])
  when "note"
    File.write(args[0], "#{ctx.jid}\n", mode: "a")
    sleep(args[1])
  end
end

def worker(of)
  options = JSON.parse(of.fetch("WORK_OPTIONS"), symbolize_names: true)
  handlers = of.fetch("WORK_CLASSES").split(",").to_h do |name|
    [name, Jobs.handler(**options) { |ctx, *args| perform(ctx, *args) }]
  end
  Jobs::Worker.new(
    of.fetch("WORK_URL").split(","),
    handlers: handlers,
    token: of.fetch("WORK_TOKEN"),
    queues: [of.fetch("WORK_QUEUE")],
    concurrency: Integer(of.fetch("WORK_CONCURRENCY")),
    shutdown_timeout: Float(of.fetch("WORK_SHUTDOWN_TIMEOUT"))
  )
end

def further(of)
  worker(of).run
  warn JSON.generate(ended: of["WORK_NAME"])
rescue Jobs::Error => e
  warn JSON.generate(ended: of["WORK_NAME"], error: e.message)
end

Thread.new { $stdin.each_line { |line| Thread.new { further(JSON.parse(line)) } } }
begin
  worker(ENV).run
rescue Jobs::Error => e
  abort JSON.generate(ts: "", level: "fatal", msg: e.message)
end
