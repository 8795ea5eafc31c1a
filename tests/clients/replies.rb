# Calls the client once for each case, and prints the results: one JSON object for tests/clients/replies_test.ts.
require_relative "../../clients/ruby/jobs"

server, cases = ARGV
["", "jobs.example.com", "file:///etc/passwd"].each do |url|
  Jobs::Client.new(url)
  abort "accepts #{url}"
rescue ArgumentError
  nil
end

def run(server, kase)
  jobs = Jobs::Client.new("#{server}/#{kase['name']}", token: "secret", timeout: kase["name"] == "dripping" ? 0.3 : 30)
  result = case kase["call"]
           when "push" then jobs.push("A", [1])["jid"]
           when "result" then jobs.result("j1", timeout: 30)
           else jobs.push_many([{ class: "A" }, { class: "B" }])
           end
  { result: result, message: nil }
rescue Jobs::Error => e
  { result: [e.code, e.status], message: e.message }
rescue StandardError => e
  { result: e.full_message, message: e.message }
end

threads = JSON.parse(cases).map { |kase| Thread.new { [kase["name"], run(server, kase)] } }
puts JSON.generate(threads.to_h(&:value))
