# Passes values that JSON can't hold, and prints the errors: JSON for tests/clients/values_test.ts.
require_relative "../../clients/ruby/jobs"

URL = ARGV[0]
CLIENT = Jobs::Client.new(URL, retries: 0, on_warning: ->(_) {})
OUT = {}
NAN = Float::NAN

def refused(name)
  yield
  OUT[name] = "none"
rescue StandardError => e
  OUT[name] = "#{e.class}: #{e.message}"
end

Account = Class.new
circular = {}
circular["self"] = circular
deep = []
200.times { deep = [deep] }
values = {
  "text for a list" => "abc",
  "null for a list" => nil,
  "dictionary for a list" => {},
  "not a number" => [{ amount: NAN }],
  "infinity" => [1, [-Float::INFINITY]],
  "set" => [Set[1]],
  "date" => [{ "due on" => Time.utc(2026, 11, 28) }],
  "bytes" => ["\xFF"],
  "key" => [{ 1 => "a" }],
  "object" => [Account.new],
  "circular" => [circular],
  "deep" => [deep]
}
values.each { |name, args| refused(name) { CLIENT.push("Mail", args) } }
refused("field") { CLIENT.push("Mail", [], fields: { rate: NAN }) }
refused("option") { CLIENT.push("Mail", [], timeout: NAN) }
good = { class: "Mail", args: [1] }
refused("one of many") { CLIENT.push_many([good, good, { "class" => "Mail", "args" => [NAN] }]) }
refused("no job") { CLIENT.push_many(["Mail"]) }
refused("signal") { CLIENT.signal("key", { by: NAN }) }
refused("signal's camel case") { CLIENT.signal("key", keepFor: "1h") }
refused("batch") { CLIENT.batch(success: { class: "Mail", args: [NAN] }) { nil } }
refused("batch's camel case") { CLIENT.batch(closeWithin: "1h") { nil } }
refused("member") { Jobs::OpenBatch.new("b1", CLIENT).add("Mail", [NAN]) }
refused("class option") { Jobs::Worker.new(URL, handlers: { "Report" => Jobs.handler(timeout: NAN) { nil } }) }
refused("snooze") { Jobs::Snooze.new(NAN) }
CLIENT.push("Valid", [[1, 2], { a: [nil, true, "ü😀", -1.5] }, :last])
puts JSON.generate({ refused: OUT })
