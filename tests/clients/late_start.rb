# A worker whose process stands still before each job begins, for late_start_test.ts.
require_relative "../../clients/ruby/jobs"

module Late
  private

  def perform(context)
    sleep(0.4)
    super
  end
end
Jobs::Worker.prepend(Late)

handlers = { "Plain" => ->(ctx) { $stdout.write("#{ctx.jid}\n") } }
Jobs::Worker.new(ARGV[0], handlers: handlers, concurrency: 5).run
