# Prints the errors of misuse: JSON for tests/clients/misuse_test.ts.
require_relative "../../clients/ruby/jobs"

URL = "http://127.0.0.1:1"
HANDLERS = { "Try" => Jobs.handler { nil } }.freeze

def message_of
  yield
  "none"
rescue StandardError => e
  "#{e.class}: #{e.message}"
end

puts JSON.generate({
  token: [
    message_of { Jobs::Client.new(URL, token: "sec\nret") },
    message_of { Jobs::Worker.new(URL, handlers: HANDLERS, token: "sec\nret") },
    message_of { Jobs::Client.new(URL, token: "secret\n") }
  ]
})
