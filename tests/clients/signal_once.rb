# Sends a signal, for signal_once_test.ts.
require_relative "../../clients/ruby/jobs"

begin
  Jobs::Client.new(ARGV[0]).signal("paid")
rescue Jobs::Error => e
  puts e.code
end
