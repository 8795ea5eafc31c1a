# Prints the errors of misspelt options: JSON for tests/clients/misspelt_test.ts.
require_relative "../../clients/ruby/jobs"

URL = "http://127.0.0.1:1"
HANDLERS = { "Try" => Jobs.handler { nil } }.freeze

def message_of
  yield
  "none"
rescue StandardError => e
  "#{e.class}: #{e.message}"
end

puts JSON.generate([
  message_of { Jobs::Worker.new(URL, handlers: HANDLERS, concurency: 5) },
  message_of { Jobs::Worker.new(URL, handlers: HANDLERS, colour: "red") },
  message_of { Jobs::Worker.new(URL, handler: HANDLERS) },
  message_of { Jobs::Client.new(URL, tokn: "x") },
  message_of { Jobs::Worker.new(URL, handlers: {}) }
])
