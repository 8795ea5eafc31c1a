# The conformance run of every client of the HTTP API: prints one JSON object for tests/clients/conformance_test.ts.
require_relative "../../clients/ruby/jobs"

url, flaky, dead = ARGV
token = ENV["TOKEN"]
warned = []
jobs = Jobs::Client.new(url, token: token, on_warning: ->(text) { warned << text })
out = {}

def code_of
  yield
  "none"
rescue Jobs::Error => e
  [e.code, e.status, e.field]
end

jid = jobs.push("Add", [2, 3], queue: "default", tags: ["a"], fields: { tenant: "acme" })["jid"]
ended = jobs.result(jid, timeout: 30)
out["result"] = [ended["state"], ended["result"], ended["payload"]["tenant"], ended["endedAt"].is_a?(String) ? "string" : "?"]
first = jobs.push("Add", [1, 1], id: "order-7", in: "1h")
again = jobs.push("Add", [1, 1], id: "order-7", in: "1h")
out["idempotent"] = [first["existed"], again["existed"], first["jid"] == again["jid"]]
out["pending"] = jobs.result(first["jid"], timeout: 0.05)
jobs.push("Later", [], at: Time.utc(2099, 1, 2, 3, 4, 5), queue: "default")
jobs.push("Sync", [1], unique_for: "1h", in: "1h")
out["unique"] = code_of { jobs.push("Sync", [1], unique_for: "1h", in: "1h") }
out["invalid"] = code_of { jobs.push("Add", [], retry: -1) }
out["unknown"] = code_of { jobs.push("Add", [], retrys: 3) }
rows = (0...2_500).lazy.map { |i| { class: "Bulk", args: [i], queue: "bulk", **(i == 7 ? { retry: "no" } : {}) } }
stored = 0
refused = []
place = 0
jobs.push_many(rows) do |result|
  result["jid"] ? stored += 1 : refused << place
  place += 1
end
out["bulk"] = [stored, refused]
out["lost"] = Jobs::Client.new(flaky, token: token).push("Lost", [1], queue: "lost")["existed"]
out["unreachable"] = code_of { Jobs::Client.new(dead, token: token, retries: 1).push("A") }
out["large"] = code_of { jobs.push("Add", ["a" * 20_000_000]) }
out["forbidden"] = code_of { Jobs::Client.new(url, token: "wrong").push("A") }
out["warned"] = warned.map { |text| text.split('"')[1] }.sort
puts JSON.generate(out)
