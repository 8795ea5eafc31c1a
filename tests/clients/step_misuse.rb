# The worker of tests/clients/step_misuse_test.ts in Ruby: returns what misuse of a step raises, as the result of the job.
require_relative "../../clients/ruby/jobs"

def error_of
  yield
  "none"
rescue Jobs::StepError => e
  e.message
end

misuse = Jobs.handler(retry: 0, result_ttl: "1h") do |ctx|
  [
    error_of { 2.times { ctx.step("a") { 1 } } },
    error_of { ctx.step("b", retries: 3) { 1 } },
    error_of { ctx.step("c") }
  ]
end

Jobs::Worker.new(ARGV[0], handlers: { "Misuse" => misuse }, token: ENV["TOKEN"]).run
