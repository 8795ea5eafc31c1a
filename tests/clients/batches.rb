# Batches, cancels and signals by the client: prints one JSON object for tests/clients/batches_test.ts.
require_relative "../../clients/ruby/jobs"

URL, FLAKY, NOTES = ARGV
out = { "batches" => [], "ids" => [] }

def client_of(name, address = URL)
  Jobs::Client.new(address, token: ENV.fetch(name), on_warning: ->(_) {})
end

def code_of
  yield
  "none"
rescue Jobs::Error => e
  [e.code, e.message]
rescue StandardError => e
  e.class.name
end

complete = { class: "Tell", args: [NOTES, "complete"] }
[["PUSH", URL], ["WORK", URL], ["PUSH", FLAKY]].each do |name, address|
  batch = client_of(name, address).batch(name: "import", complete: complete, close_within: "1h", keep_for: "2h") do |one|
    1_200.times { |i| one.add("Empty", [i]) }
    2.times { one.add("Empty", [name, address], throttle: "1/1h", throttle_key: "#{name} #{address}") }
    2.times { one.add("Empty", [name, address], unique_for: "1h") }
  end
  out["batches"] << [batch.added, batch.duplicates]
  out["ids"] << batch.id
end
abandoned = { class: "Tell", args: [NOTES, "abandoned"] }
push = client_of("PUSH")
out["thrown"] = code_of { push.batch(complete: complete, abandoned: abandoned) { raise RangeError, "stop" } }
out["refused"] = code_of { push.batch(complete: complete, abandoned: abandoned) { |one| one.add("Empty", [], retry: -1) } }
out["limited"] = code_of { client_of("LIMITED").batch { |one| one.add("Empty") } }
out["misspelt"] = code_of { push.batch(succes: complete) { nil } }
out["empty"] = code_of { push.batch } == "ArgumentError" ? "TypeError" : "none"

operator = client_of("OPERATOR")
jid = push.push("Empty", [], in: "1h")["jid"]
out["cancelled"] = [operator.cancel(jid), operator.cancel(jid), operator.cancel("none")]
out["forbidden"] = code_of { push.cancel(jid) }[0]
waiting = push.push("Approve", ["order-1"])["jid"]
operator.signal("order-1", { by: "ann" })
out["signalled"] = operator.result(waiting, timeout: 30)["result"]
out["kept"] = operator.signal("order-2", keep_for: "1h")
out["unkept"] = code_of { operator.signal("order 3/ü", nil, keep: false) }[0]
puts JSON.generate(out)
