# The worker of tests/clients/step_misuse_test.ts in Ruby: returns what misuse of a step raises, as the result of the job.
require_relative "../../clients/ruby/jobs"

def error_of
  yield
  "none"
rescue Jobs::StepError => e
  e.message
end

misuse = Jobs.handler(retry: 0, result_ttl: "1h") do |ctx|
  {
    twice: error_of { 2.times { ctx.step("a") { 1 } } },
    option: error_of { ctx.step("b", retries: 3) { 1 } },
    missing: error_of { ctx.step("c") },
    result: error_of { ctx.step("d") { { amount: Float::NAN } } },
    wait: error_of { ctx.wait_for("e", key: "k", timeout: "1h", keep_for: "1d") },
    list: error_of { ctx.run("f", "Mail", "abc") },
    argument: error_of { ctx.run("f", "Mail", [Float::NAN]) },
    child: error_of { ctx.run("f", "Mail", [], retrys: 3) },
    patience: error_of { ctx.run("f", "Mail", [], giveUpAfter: "1h") },
    field: error_of { ctx.run("f", "Mail", [], tenant: "acme") },
    duration: error_of { ctx.sleep("g", Float::NAN) }
  }
end
odd = Jobs.handler(retry: 0, failure_ttl: "1h") { { amount: Float::NAN } }

Jobs::Worker.new(ARGV[0], handlers: { "Misuse" => misuse, "Odd" => odd }, token: ENV["TOKEN"]).run
