# A worker for rough_gateway_test.ts.
require_relative "../../clients/ruby/jobs"

chatty = lambda do |ctx, file|
  200.times { ctx.log.info("l" * 1_000) }
  sleep 0.02 while File.exist?(file)
end
handlers = { "Echo" => ->(_) {}, "Chatty" => chatty }
begin
  Jobs::Worker.new(ARGV[0], handlers: handlers, concurrency: 40, shutdown_timeout: ARGV[1] == "hurried" ? 0 : 25).run
rescue Jobs::Error => e
  puts e.message
  (Thread.list - [Thread.main]).each { |thread| thread.join(10) || abort("A thread runs still") }
end
