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

open_batch = Jobs::OpenBatch.allocate.tap do |batch|
  batch.instance_variable_set(:@client, Jobs::Client.new(URL, token: "tok-3n"))
end
shown = [Jobs::Client.new(URL, token: "tok-3n"), Jobs::Worker.new(URL, handlers: HANDLERS, token: "tok-3n"), open_batch,
         Jobs::ActiveJobAdapter.new(URL, token: "tok-3n")]

puts JSON.generate({
  pushed: Jobs::Client.new(ARGV[0], retries: 0).push("A")["jid"],
  urls: [
    message_of { Jobs::Client.new("http://ann:pw@127.0.0.1:1") },
    message_of { Jobs::Worker.new(["http://127.0.0.1:1", "http://pw@127.0.0.1:1/x"], handlers: HANDLERS) },
    message_of { Jobs::Client.new("ftp://ann:p@w@127.0.0.1:1") }
  ],
  shown: shown.map(&:inspect),
  token: [
    message_of { Jobs::Client.new(URL, token: "sec\nret") },
    message_of { Jobs::Worker.new(URL, handlers: HANDLERS, token: "sec\nret") },
    message_of { Jobs::Client.new(URL, token: "secret\n") }
  ]
})
