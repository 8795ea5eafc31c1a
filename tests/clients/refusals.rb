# Uses a wrong token: prints the errors of pushes, and of a worker, as JSON lines for tests/clients/refusals_test.ts.
require_relative "../../clients/ruby/jobs"

ROLE, URL = ARGV

def error_of
  yield
  nil
rescue Jobs::Error => e
  { code: e.code, status: e.status, message: e.message }
end

# The wait before the next attempt doubles.
(ROLE == "push" ? 20 : 0).times do
  found = error_of { Jobs::Client.new(URL, token: "wrong").push("Mail") }
  puts JSON.generate(found)
  break if found && found[:status] == 429
end
worker = Jobs::Worker.new(URL, handlers: { "Mail" => Jobs.handler { nil } }, token: "wrong")
puts JSON.generate(error_of { worker.run })
