# Prints the events of a class, for events_test.ts.
require_relative "../../clients/ruby/jobs"

url, count = ARGV
left = count.to_i
Jobs::Client.new(url, token: ENV["TOKEN"]).events(after: 0, class: "Mail*", type: %w[cancelled dead]) do |event|
  warn JSON.generate(event.slice("id", "type", "jid"))
  break if (left -= 1).zero?
end
