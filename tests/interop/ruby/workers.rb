# Sidekiq jobs for the interop tests. They note their actions in a file, like the handlers in tests/support/handlers.js.
require "sidekiq"
require "sidekiq/api"

Sidekiq.options[:poll_interval_average] = 0.2

module Noting
  def note(file, line)
    File.open(file, "a") { |out| out.puts(line) }
  end
end

class Note
  include Sidekiq::Worker
  include Noting

  def perform(file, line = jid)
    note(file, line)
  end
end

class Echo
  include Sidekiq::Worker
  include Noting

  def perform(file, *args)
    note(file, Sidekiq.dump_json(args))
  end
end

class Fail
  include Sidekiq::Worker
  sidekiq_options retry: 2, backtrace: true

  def perform(message = "no luck")
    raise RangeError, message
  end
end

class Listen
  include Sidekiq::Worker
  include Noting

  # Notes its start, and its end when the file `go` exists next to the notes.
  def perform(file)
    note(file, "start #{jid}")
    sleep 0.02 until File.exist?("#{file}.go")
    note(file, "end #{jid}")
  end
end

# A class that has moved: docs/migrate/sidekiq.md has these lines.
class Moved
  include Sidekiq::Worker

  def perform(*args)
    Sidekiq::Client.push("class" => "Moved", "args" => args, "queue" => "js")
  end
end
