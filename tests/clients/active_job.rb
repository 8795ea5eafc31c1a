# An application with ActiveJob, for tests/clients/active_job_test.ts: pushes jobs, or performs them.
require "active_job"
require_relative "../../clients/ruby/jobs"

role, url = ARGV
ActiveJob::Base.logger = Logger.new(IO::NULL)
ActiveJob::Base.queue_adapter = Jobs::ActiveJobAdapter.new(url, on_warning: ->(_) {})
Busy = Class.new(StandardError)
Gone = Class.new(StandardError)

class ApplicationJob < ActiveJob::Base
  extend Jobs::Options
  jobs_options failure_ttl: "1h", result_ttl: "1h"
end

class NoteJob < ApplicationJob
  queue_as :notes
  jobs_options tags: ["note"]

  def perform(time, words, name: nil)
    Jobs.context.log.info("#{time.class} #{time.utc.iso8601} #{words.inspect} #{name} #{provider_job_id} #{executions}")
  end
end

class BusyJob < ApplicationJob
  retry_on Busy, wait: 0, attempts: 3

  def perform
    raise Busy, "try again" if executions < 2

    Jobs.context.log.info("attempt #{executions} of ActiveJob")
  end
end

class GoneJob < ApplicationJob
  discard_on(Gone) { |_, error| Jobs.context.log.info("discarded: #{error.message}") }

  def perform
    raise Gone, "no such account"
  end
end

class BrokenJob < ApplicationJob
  jobs_options retry: 1, backoff: { type: "fixed", base: 0.1 }

  def perform
    raise TypeError, "broken"
  end
end

class LaterJob < ApplicationJob
  def perform(snooze) = snooze && Jobs.context.attempt == 1 ? raise(Jobs::Snooze, 3600) : nil
end

case role
when "work"
  Jobs::Worker.new(url, handlers: Jobs.active_jobs, concurrency: 3, shutdown_timeout: 0.5).run
when "push"
  pushed = {
    note: NoteJob.perform_later(Time.utc(2026, 11, 26), [:a, "b"], name: "Ada"),
    busy: BusyJob.perform_later,
    gone: GoneJob.perform_later,
    broken: BrokenJob.perform_later,
    snoozed: LaterJob.perform_later(true),
    later: LaterJob.set(wait_until: Time.utc(2099, 1, 2)).perform_later(false)
  }
  many = Array.new(3) { |i| NoteJob.new(Time.at(i), []) }
  many[2].scheduled_at = Time.utc(2099, 1, 3).to_f
  count = ActiveJob::Base.queue_adapter.enqueue_all(many)
  puts JSON.generate({ **pushed.transform_values(&:provider_job_id), many: [count, *many.map(&:provider_job_id)] })
end
