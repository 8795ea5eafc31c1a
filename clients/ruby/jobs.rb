# frozen_string_literal: true

# Client of the HTTP API of jobs: pushes jobs, waits for their results, and performs jobs in this process. One file without
# dependencies, for Ruby 2.7 and later.
#
#   require_relative "jobs"
#
#   jobs = Jobs::Client.new("http://127.0.0.1:7433", token: ENV["JOBS_TOKEN"])
#   jid = jobs.push("Mail", ["ada@example.com"], in: "5m", id: "order-7-mail")["jid"]
#   ended = jobs.result(jid, timeout: 60)
#
# Every push carries an idempotency key, so a request that is sent again after a lost answer stores its jobs once.
#
# For Rails: config.active_job.queue_adapter = Jobs::ActiveJobAdapter.new("http://127.0.0.1:7433")

require "etc"
require "json"
require "monitor"
require "net/http"
require "openssl"
require "securerandom"
require "set"
require "socket"
require "time"
require "timeout"
require "uri"

module Jobs
  CLIENT = "jobs-client 0.1"
  PROTOCOL = 1

  # The API rejected a request, or is unreachable.
  #
  # code: "invalid", "conflict" (a unique lock, a throttle or a batch refuses the job), "unauthenticated" (the token is wrong),
  # "forbidden", "rate_limited", "unavailable", "unreachable", "redirected" (the URL is wrong), "invalid_reply" (the server isn't the
  # API of jobs), …
  # status: HTTP's status code; nil if there was no answer. field: the invalid field, or nil.
  class Error < StandardError
    TRANSIENT = [408, 429, 500, 502, 503, 504].freeze
    WRONG_TOKEN = "unauthenticated"

    attr_reader :code, :status, :field, :retry_after

    def initialize(message, code:, status: nil, field: nil, retry_after: nil, transient: nil)
      super(message)
      @code = code
      @status = status
      @field = field
      @retry_after = retry_after
      # After many wrong tokens, a further one is status 429. Waiting doesn't make it right.
      @transient = transient.nil? ? status.nil? || TRANSIENT.include?(status) && code != WRONG_TOKEN : transient
    end

    def transient?
      @transient
    end
  end

  # An object whose default representation has nothing of what it holds: a token would be shown by a console, a log or an error.
  module Opaque
    def inspect
      "#<#{self.class.name}>"
    end
  end

  # Ends a job for good, without a failure: it is not needed any more.
  class Discard < StandardError; end

  # Ends a job for good: it is dead at once, without further attempts.
  class Kill < StandardError; end

  # Ends an attempt: the job runs again later, without counting as failed.
  class Snooze < StandardError
    attr_reader :delay

    # delay: seconds, or a duration such as "5m".
    def initialize(delay)
      super("Again in #{delay}")
      @delay = Json.seconds(delay)
      Json.check(@delay, "delay")
    end
  end

  # Raised in a job that must end. reason: "Cancelled", "Timeout", "Shutdown" or "LeaseLost".
  class Aborted < StandardError
    TEXTS = {
      "Cancelled" => "The job was cancelled",
      "Timeout" => "The job's timeout has expired",
      "Shutdown" => "The worker's shutdown timeout has expired",
      "LeaseLost" => "Another worker has the job now"
    }.freeze

    attr_reader :reason

    def initialize(reason)
      super(TEXTS.fetch(reason, reason))
      @reason = reason
    end
  end

  # A step of a job, or its child, has failed for good. A job that doesn't rescue it is dead: it would fail again.
  # kind: "StepFailed" or "ChildFailed".
  class StepFailed < StandardError
    attr_reader :kind

    def initialize(kind, message)
      super(message)
      @kind = kind
    end
  end

  # A step is used wrongly: a name twice, an unknown option, a value that isn't JSON. kind: the class of the server's error.
  class StepError < StandardError
    attr_reader :kind

    def initialize(kind, message)
      super(message)
      @kind = kind
    end
  end

  # Ends an attempt whose job sleeps, waits, or continues elsewhere. Don't rescue it.
  class AttemptEnded < Exception; end

  # The argument of a step's block. idempotency_key: the same in each attempt, for requests to other systems. attempt: the number of
  # the attempt of the step, from 1. timeout: seconds, or nil.
  Step = Struct.new(:idempotency_key, :attempt, :timeout)

  # The batch of a job: add pushes a job into it, and returns the jid; nil if another job holds the unique lock.
  class Batch
    include Opaque

    attr_reader :id

    def initialize(id, context)
      @id = id
      @context = context
    end

    def add(class_name, args = [], **options)
      request = { kind: "member", class: class_name.to_s, args: Json.list(args, "args"), options: Json.request(options) }
      Json.check(request, "")
      @context.use(request)
    end
  end

  # The flow that a job is a node of.
  class Flow
    include Opaque

    attr_reader :id, :node

    def initialize(id, node, context)
      @id = id
      @node = node
      @context = context
    end

    # Returns the values of earlier nodes, by name; default: of the nodes directly before this one.
    def results(nodes = nil)
      @context.use({ kind: "results", nodes: nodes }.compact)
    end
  end

  # The job that this thread performs; nil outside of one. Classes with a method `perform` receive no context as an argument.
  def self.context
    Thread.current.thread_variable_get(:jobs_context)
  end

  # Refuses an option that would have no effect.
  def self.refuse_unknown(unknown, where, known)
    name = unknown.keys.first&.to_s
    return unless name

    close = defined?(DidYouMean::SpellChecker) && DidYouMean::SpellChecker.new(dictionary: known).correct(name).first
    cure = close ? "did you mean \"#{close}\"?" : "expected #{known.join(', ')}"
    raise ArgumentError, "Unknown option #{name[0, 100].inspect} of #{where}: #{cure}"
  end

  # Returns a token as a header takes it. No error shows it.
  def self.token_of(token)
    text = token.to_s.strip
    return text if text.match?(/\A[!-~]*\z/)

    raise ArgumentError, "Invalid token: expected visible ASCII characters, as jobs web --new-token prints them"
  end

  # All job classes of ActiveJob that are loaded, for the handlers of a worker.
  def self.active_jobs
    ActionMailer::MailDeliveryJob if defined?(ActionMailer)
    ActiveJob::Base.descendants.select(&:name)
  end

  # Returns a handler from a block: Jobs.handler(queue: "reports") { |ctx, month| … }
  def self.handler(**options, &block)
    raise ArgumentError, "Missing block: expected { |ctx, *args| … }" unless block

    block.define_singleton_method(:jobs_options) { options }
    block
  end

  # Options of a class: `extend Jobs::Options`, then `jobs_options queue: "reports", retry: 5`. Subclasses inherit them. See
  # docs/reference/job-options.md.
  module Options
    def jobs_options(options = nil)
      known = @jobs_options || (respond_to?(:superclass) && superclass.respond_to?(:jobs_options) ? superclass.jobs_options : {})
      options ? @jobs_options = known.merge(options) : known
    end
  end

  # JSON texts. The library's generator writes any object as a text, which no handler expects. A Symbol is written as a text, too.
  module Json
    # The deepest value that a worker performs.
    MAX_LEVELS = 100
    MAX_SHOWN = 100
    NAME = /\A[A-Za-z_$][\w$]*\z/.freeze
    # Options whose names in the API aren't spelled as Ruby's.
    SPELLED = { close_within: "closeWithin", keep_for: "keepFor", give_up_after: "giveUpAfter" }.freeze

    def self.text(value, path = "")
      check(value, path)
      generate(value)
    end

    # Returns the text of a value that was checked. The library's own limit counts what is around it, too.
    def self.generate(value)
      JSON.generate(value, max_nesting: 0)
    end

    # Raises ArgumentError, in one line with its path, for a value that JSON can't hold.
    def self.check(value, path)
      steps, what, expected = unfit(value, [])
      return unless steps

      at = steps.reduce(path) { |before, step| step.is_a?(Integer) ? "#{before}[#{step}]" : member(before, step) }
      raise ArgumentError, "#{at} #{what}; expected #{expected}"
    end

    # Returns arguments as an Array. A text isn't one, nor is what has no order.
    def self.list(args, path)
      one = args.is_a?(Hash) || args.is_a?(Struct) || !args.is_a?(Enumerable)
      return args.to_a unless one && !args.respond_to?(:to_ary)

      raise ArgumentError, "#{path} is #{show(args)}; expected an array of the handler's arguments, such as [\"ada@example.com\"]"
    end

    # A duration of ActiveSupport in seconds; anything else as it is.
    def self.seconds(value)
      value.respond_to?(:in_seconds) ? value.to_f : value
    end

    # Returns a job as the API takes it: times become texts, durations seconds. path: that of the job, for errors.
    def self.request(job, path = "")
      unless job.respond_to?(:transform_keys)
        raise ArgumentError, "#{path} is #{show(job)}; expected a job, such as { class: \"Mail\", args: [1] }"
      end

      job = job.transform_keys(&:to_s)
      at = job["at"]
      isnt_time = at.nil? || at.is_a?(String) || at.is_a?(Numeric) || !at.respond_to?(:to_time)
      job["at"] = at.to_time.utc.iso8601(6) unless isnt_time
      job["args"] = list(job["args"], member(path, "args")) if job.key?("args")
      job.each { |name, value| job[name] = seconds(value) unless name == "args" }
      check(job, path)
      job
    end

    # Returns options under their names in the API.
    def self.spelled(options, where)
      wrong = SPELLED.find { |_, name| options.key?(name.to_sym) }
      raise ArgumentError, "Unknown option \"#{wrong[1]}\" of #{where}: did you mean \"#{wrong[0]}\"?" if wrong

      options.transform_keys { |name| SPELLED.fetch(name, name) }
    end

    # Returns a text of the server with the names of options as Ruby has them.
    def self.spelled_back(text)
      SPELLED.reduce(text.sub("{ each: id }", "each: id")) { |before, (name, spelled)| before.gsub(spelled, name.to_s) }
    end

    def self.member(path, name)
      return "#{path}[#{name.to_s.to_json}]" unless name.match?(NAME)

      path.empty? ? name.to_s : "#{path}.#{name}"
    end

    # Returns the steps to what JSON can't hold, what that is, and what is expected; nil without any.
    def self.unfit(value, around)
      case value
      when nil, true, false, Integer, Symbol then nil
      when String then bad(value, "text in UTF-8, or its bytes in base64") unless utf8?(value)
      when Float then bad(value, "a finite number, or nil") unless value.finite?
      when Array, Hash then unfit_within(value, around)
      else bad(value, json_value(value))
      end
    end

    def self.unfit_within(value, around)
      return [[], "is the #{value.class} around it", "a value that does not contain itself"] if around.any? { |one| one.equal?(value) }
      return bad(value, "at most #{MAX_LEVELS} levels of arrays and hashes") if around.size >= MAX_LEVELS

      inner = [*around, value]
      each_member(value) do |step, item|
        unless step.is_a?(String) || step.is_a?(Symbol) || value.is_a?(Array)
          return [[], "has the key #{show(step)}", "keys that are texts"]
        end

        steps, what, expected = unfit(item, inner)
        return [[step, *steps], what, expected] if steps
      end
      nil
    end

    def self.each_member(value, &block)
      return value.each(&block) if value.is_a?(Hash)

      value.each_with_index { |item, i| yield i, item }
    end

    def self.bad(value, expected)
      [[], "is #{show(value)}", expected]
    end

    # Returns any value as a text that JSON can hold. Bytes, such as those of a response, are read as UTF-8.
    def self.readable(value)
      text = value.to_s
      return text.dup.force_encoding(Encoding::UTF_8).scrub if text.encoding == Encoding::BINARY

      text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
    rescue EncodingError
      text.b.force_encoding(Encoding::UTF_8).scrub
    end

    def self.utf8?(text)
      text.encode(Encoding::UTF_8).valid_encoding?
    rescue EncodingError
      false
    end

    # Returns a value in one line. An object may have secrets in its members.
    def self.show(value)
      text = case value
             when String then value.dump
             when nil, true, false, Numeric, Symbol, Array, Hash, Time, Range then value.inspect.gsub(/\s+/, " ")
             else "#{value.class.name.to_s.match?(/\A[AEIOU]/) ? 'an' : 'a'} #{value.class}"
             end
      text.size <= MAX_SHOWN ? text : "#{text[0, MAX_SHOWN]}…"
    end

    def self.json_value(value)
      instead = case value
                when Time then "value.iso8601"
                when Set, Range, Enumerator, Struct then "value.to_a"
                when Numeric then "value.to_s"
                else value.respond_to?(:iso8601) ? "value.iso8601" : "its to_s or to_h"
                end
      "a JSON value, such as #{instead}"
    end
  end

  # The addresses of the API, beginning with one by chance, so that many clients spread over all. A server that fails twice in a row,
  # or doesn't reply in time, is left for the next one.
  class Servers
    include Opaque

    MAX_FAILURES = 2
    # The user and the password of an address.
    USER_INFO = %r{\A([^/?#]*//)?[^/?#]*@}.freeze

    # on_leave: called with the address of a server that is left.
    def initialize(url, &on_leave)
      urls = [url].flatten
      (urls.empty? ? [nil] : urls).each do |one|
        shown = one.is_a?(String) ? one.sub(USER_INFO, '\\1…@') : one
        next if one.is_a?(String) && one.match?(%r{\Ahttps?://}i) && shown == one

        expected = if shown == one
                     "the dashboard's address, such as https://jobs.example.com, or a list of them"
                   else
                     "an address without a user or a password: pass a token"
                   end
        raise ArgumentError, "Invalid url #{shown.inspect}: expected #{expected}"
      end
      @urls = urls.map { |one| "#{one.sub(%r{/+\z}, '')}/api/v1" }.rotate(rand(urls.size))
      @on_leave = on_leave
      @failures = 0
      @lock = Mutex.new
    end

    def current
      @urls.first
    end

    def only?
      @urls.size == 1
    end

    # Runs a request to the current server, and notes whether that fails.
    def use
      url = current
      answer = yield url
      @failures = 0 if url == current
      answer
    rescue Error => e
      left = @lock.synchronize { failed(url, e) }
      @on_leave&.call(url) if left
      raise
    end

    private

    def failed(url, error)
      broken = error.status.nil? || error.status >= 500 || error.code == "invalid_reply"
      # Another request may have left it.
      return false if !broken || @urls.size == 1 || url != current

      @failures += 1
      return false if @failures < MAX_FAILURES && !error.cause.is_a?(Timeout::Error)

      @urls = @urls.rotate
      @failures = 0
      true
    end
  end

  # Reads the reply of a server that refuses a request before it has read all of it, and then closes the connection.
  module EarlyReply
    def exec(*)
      super
    rescue Errno::EPIPE, Errno::ECONNRESET
      nil # Without a reply, reading it fails.
    end
  end

  # Sends requests to the current server. A kept connection serves one thread.
  class Line
    include Opaque

    FAILURES = [SystemCallError, IOError, SocketError, Timeout::Error, Net::ProtocolError, Net::HTTPBadResponse,
                Net::HTTPHeaderSyntaxError, OpenSSL::SSL::SSLError].freeze
    SHOWN_BYTES = 100
    # A stream of events on which nothing has come for this long is read again: the server writes each 15 s.
    MAX_SILENCE = 45

    def initialize(servers, token, keep: false)
      @servers = servers
      @headers = { "content-type" => "application/json", "accept-encoding" => "identity" }
      @headers["authorization"] = "Bearer #{token}" unless token.to_s.empty?
      @keep = keep
    end

    # Sends one request, and returns the object that answers it. The block returns whether an answer is an expected one.
    def request(method, path, body: nil, key: nil, timeout: 10, &expected)
      @servers.use do |url|
        aim(url)
        response = exchange(method, path, body, key, timeout)
        read(path, response, expected || ->(_) { true })
      end
    end

    # Yields the messages of a stream of events, each an ID and an event or nil, until it is cut.
    def messages(path, after)
      aim(@servers.current)
      request = Net::HTTP::Get.new(@uri.path + path, @headers.merge("accept" => "text/event-stream", "last-event-id" => after.to_s))
      connection.read_timeout = MAX_SILENCE
      text = String.new
      yields = false
      connection.request(request) do |response|
        return unless response["content-type"].to_s.include?("event-stream")

        response.read_body do |chunk|
          text << chunk
          while (message = text.slice!(/\A.*?\n\n/m))
            id, data = message[/^id: (\d+)$/, 1], message[/^data: (.*)$/, 1]
            next unless id

            yields = true
            yield id.to_i, data && JSON.parse(data.force_encoding("UTF-8"))
            yields = false
          end
        end
      end
    rescue *FAILURES
      raise if yields # It is an error of the block.
      # Else the next page has the error, if there is one.
    ensure
      close
    end

    def close
      @http&.finish if @http&.started?
      @http = nil
    rescue IOError
      @http = nil
    end

    private

    def aim(url)
      return if url == @url

      close
      @url = url
      @uri = URI(url)
    end

    def exchange(method, path, body, key, timeout)
      headers = key ? @headers.merge("idempotency-key" => key) : @headers
      request = Net::HTTP.const_get(method.capitalize).new(@uri.path + path, headers)
      request.extend(EarlyReply)
      request.body = body if body
      # The timeouts of Net::HTTP begin again with each byte.
      response = Timeout.timeout(timeout) { connection.request(request) }
      # Net::HTTP accepts a body that was cut off.
      raise EOFError, "the reply was cut off" if response.body.to_s.bytesize < response["content-length"].to_i

      close unless @keep && response["connection"] != "close"
      response
    rescue *FAILURES => e
      close
      raise Error.new("Can't reach #{@url}: #{e.message.lines.first&.strip || e.class}", code: "unreachable")
    rescue Exception
      close
      raise
    end

    def connection
      @http ||= begin
        # Without the proxy of the environment. `host` keeps the brackets of an IPv6 address.
        http = Net::HTTP.new(@uri.hostname, @uri.port, nil)
        http.use_ssl = @uri.scheme.casecmp?("https")
        http.max_retries = 0
        http.keep_alive_timeout = 30
        http.read_timeout = 60
        http.start
      end
    end

    def read(path, response, expected)
      status = response.code.to_i
      raise redirected(path, response) if (300..399).cover?(status)

      type = response["content-type"] || "no content type"
      value = parse(response.body)
      raise error_of(response, value) unless (200..299).cover?(status)

      page = type.include?("html")
      return value if !page && value.is_a?(Hash) && expected.call(value)

      shown = response.body.to_s.byteslice(0, SHOWN_BYTES).force_encoding("UTF-8").scrub.to_json
      # A reply that was cut off may be complete the next time.
      raise Error.new("#{@url} answered #{status} with #{shown} (#{type}): expected a reply of the API of jobs, check the URL",
                      code: "invalid_reply", status: status, transient: !page && value == :unreadable)
    end

    def parse(text)
      JSON.parse(text.to_s)
    rescue JSON::ParserError, EncodingError
      :unreadable
    end

    def error_of(response, value)
      status = response.code.to_i
      after = response["retry-after"].to_s.match?(/\A\d+\z/) ? [60.0, response["retry-after"].to_f].min : nil
      details = value.is_a?(Hash) && value["error"].is_a?(Hash) ? value["error"] : {}
      known = details["message"].is_a?(String) && details["code"].is_a?(String)
      Error.new(known ? Json.spelled_back(details["message"]) : "#{status} #{response.message}",
                code: known ? details["code"] : "unavailable", status: status,
                field: known && details["field"].is_a?(String) ? Json.spelled_back(details["field"]) : nil, retry_after: after)
    end

    # The error of a redirect, with the URL to use instead if the redirect is to the same path.
    def redirected(path, response)
      cure = ": expected the API of jobs, check the URL"
      begin
        target = response["location"] && URI.join("#{@url}/", response["location"])
        if target.is_a?(URI::HTTP)
          origin = "#{target.scheme}://#{target.host}#{":#{target.port}" unless target.port == target.default_port}"
          ending = "/api/v1#{path.split('?').first}"
          same = target.path.end_with?(ending)
          cure = same ? ": use #{origin}#{target.path.delete_suffix(ending)}" : " to #{origin}#{target.path}#{cure}"
        end
      rescue URI::Error
        # No valid location.
      end
      Error.new("#{@url} answered #{response.code}, a redirect#{cure}", code: "redirected", status: response.code.to_i)
    end
  end

  # Pushes jobs over HTTP. Threads may share one.
  #
  # url: the dashboard's address, such as "https://jobs.example.com". Of a list, one by chance is used, and the next ones when it fails.
  # token: one of the role push, work or operator.
  # timeout: how long one request may take, in seconds, from connecting to the end of its reply.
  # retries: how many times a request is sent again.
  # on_warning: receives each warning once: a push was stored, but may be a mistake. Default: Kernel#warn.
  class Client
    include Opaque

    BATCH = 1_000
    MAX_WAIT = 30.0

    def initialize(url, token: nil, timeout: 10, retries: 4, on_warning: ->(text) { warn("jobs: #{text}") }, **unknown)
      Jobs.refuse_unknown(unknown, "Jobs::Client.new", %w[token timeout retries on_warning])
      @servers = Servers.new(url)
      @token = Jobs.token_of(token)
      @timeout = timeout
      @retries = retries
      @on_warning = on_warning
      @warned = {}
      @lock = Mutex.new
    end

    # Pushes one job, and returns { "jid" => …, "existed" => …, "replaced" => … }. Raises Jobs::Error with the code "conflict"
    # if its unique lock, throttle or batch refuses it, and "invalid" if an option or an argument is wrong: field has its path.
    #
    # Options are those of docs/reference/job-options.md: queue, in, at, retry, unique_for, id, batch, …; fields: additional
    # fields, which the payload keeps.
    def push(class_name, args = [], **options)
      job = Json.request({ **options, class: class_name.to_s, args: args })
      # The job's own id has the same effect as the header, and may contain characters that a header can't.
      key = job["id"].nil? ? SecureRandom.uuid : nil
      answer = post(Json.generate(job), key) { |reply| pushed?(reply) }
      { "jid" => answer["jid"], "existed" => answer.fetch("existed", false), "replaced" => answer.fetch("replaced", false) }
    end

    # Pushes jobs from any enumerable, in batches: { class: "Mail", args: [1], queue: "low" }. Yields a result for each, in order,
    # once its batch is stored: { "jid" => … } or { "refused" => … }. Without a block, returns all results.
    def push_many(jobs, &block)
      return enum_for(:push_many, jobs).to_a unless block

      i = -1
      jobs.each_slice(BATCH) do |batch|
        requests = batch.map { |job| Json.request(job, "jobs[#{i += 1}]") }
        complete = lambda do |reply|
          results = reply["results"]
          results.is_a?(Array) && results.size == batch.size && results.all? { |one| result?(one) }
        end
        post(Json.generate(requests), SecureRandom.uuid, &complete)["results"].each(&block)
      end
    end

    # Opens a batch that the block fills, and closes it: its callbacks follow when its jobs have ended. Returns the batch.
    #
    #   jobs.batch(name: "import 42", success: { class: "Notify", args: [42] }) do |batch|
    #     rows.each { |row| batch.add("ImportRow", [row]) }
    #   end
    #
    # If the block raises an error, the batch is abandoned. Needs a token of the role push, work or operator without limits.
    # options: name, tags, notify, close_within, keep_for, parent; the callbacks success, complete, death and abandoned.
    def batch(**options)
      raise ArgumentError, "Missing block: expected jobs.batch(name: …) { |batch| batch.add(…) }" unless block_given?

      request = Json.spelled(options, "batch").to_h do |name, value|
        [name, value.is_a?(Hash) && value.any? { |key, _| key.to_s == "class" } ? Json.request(value, name.to_s) : Json.seconds(value)]
      end
      key = SecureRandom.uuid
      answer = send_post("/batches", Json.text(request), key: key) { |reply| reply["id"].is_a?(String) && !reply["id"].empty? }
      tell(answer)
      closing = "/batches/#{escape(answer['id'])}/close"
      batch = OpenBatch.new(answer["id"], self)
      begin
        yield batch
        batch.close
      rescue Exception # Also what ends the thread.
        abandon(closing)
        raise
      end
      send_post(closing, "{}")
      batch
    end

    # Cancels a job: removes a waiting one, and has a running one aborted. Needs a token of the role operator. Returns false if it has
    # ended otherwise, is dead, or there is none.
    def cancel(jid)
      send_post("/jobs/#{escape(jid)}/cancel", "{}")
      true
    rescue Error => e
      raise unless e.status == 404

      # The reply to an earlier attempt may have been lost.
      finished = result(jid, timeout: 0)
      !finished.nil? && finished["state"] == "cancelled"
    end

    # Sends a signal to the job that has waited longest for its key; without one, it is kept for the first that does. Returns the jid of
    # the job; nil if the signal is kept. Needs a token of the role signal or operator. Isn't repeated after a lost reply, since it might
    # arrive twice.
    #
    # options: keep: false refuses a key that no job waits for; keep_for: how long it is kept.
    def signal(key, data = true, **options)
      given = Json.spelled(options, "signal").transform_values { |value| Json.seconds(value) }
      body = Json.text({ **given.transform_keys(&:to_sym), data: data })
      send_post("/signals/#{escape(key)}", body, retries: 0)["reached"]
    end

    # Waits until a job has ended, and returns its record; nil if it hasn't ended in time.
    def result(jid, timeout: 60)
      deadline = Jobs.now + timeout
      loop do
        left = [0.0, deadline - Jobs.now].max
        wait = [MAX_WAIT, left].min
        query = wait.positive? ? "?wait=#{(wait * 1000).to_i + 1}ms" : ""
        path = "/jobs/#{escape(jid)}/result#{query}"
        finished = repeat(deadline) do |line|
          line.request("GET", path, timeout: @timeout + wait) do |reply|
            reply.key?("finished") && (reply["finished"].nil? || reply["finished"].is_a?(Hash))
          end
        end["finished"]
        return finished if finished
        return nil if left <= MAX_WAIT
      end
    end

    # Yields the events of the log until the block breaks. Continues after a lost connection.
    #
    # after: the "id" of the last event that the program has used; 0: the oldest that is kept. Default: from now on.
    # filters: type, class, queue, batch, tag, each a text or several.
    def events(after: nil, **filters)
      return enum_for(:events, after: after, **filters) unless block_given?

      query = "/events?#{URI.encode_www_form(filters.transform_values { |values| Array(values) })}"
      failures = 0
      reached = false
      # An error of the block ends the loop, also one of the API.
      yields = false
      use = lambda do |event|
        yields = true
        yield event
        yields = false
      end
      loop do
        begin
          # A page has the errors of the API, and where to begin.
          page = repeat do |line|
            line.request("GET", "#{query}#{"&after=#{after}" if after}", timeout: @timeout) do |reply|
              reply["events"].is_a?(Array) && reply["next"].is_a?(Integer)
            end
          end
          reached = true
          page["events"].each do |event|
            use.call(event)
            after = event["id"]
          end
          after = page["next"]
          Line.new(@servers, @token).messages(query, after) do |id, event|
            failures = 0
            use.call(event) if event
            after = id
          end
        rescue Error => e
          raise if yields || !reached || !e.transient?
        end
        sleep([5.0, 0.1 * (2**failures)].min * rand(0.5..1.0))
        failures += 1
      end
    end

    private

    def post(body, key, &expected)
      answer = send_post("/jobs", body, key: key, &expected)
      tell(answer)
      answer
    end

    def send_post(path, body, key: nil, retries: @retries, &expected)
      repeat(retries: retries) { |line| line.request("POST", path, body: body, key: key, timeout: @timeout, &expected) }
    end

    def abandon(closing)
      send_post(closing, '{"abandon":true}')
    rescue Error
      # The server abandons it after close_within.
    end

    def escape(text)
      URI.encode_www_form_component(text).gsub("+", "%20")
    end

    # Passes on each warning once.
    def tell(answer)
      found = answer["warnings"].is_a?(Array) ? answer["warnings"].map(&:to_s) : []
      fresh = @lock.synchronize { found.select { |text| @warned[text].nil? && @warned[text] = true } }
      fresh.each { |text| @on_warning.call(text) }
    end

    # Sends a request, and repeats it after a temporary failure. No attempt begins after the deadline.
    def repeat(deadline = Float::INFINITY, retries: @retries)
      attempt = 0
      begin
        yield Line.new(@servers, @token)
      rescue Error => e
        delay = e.retry_after || [5.0, 0.1 * (2**attempt)].min * rand(0.5..1.0)
        raise if !e.transient? || attempt >= retries || Jobs.now + delay >= deadline

        sleep(delay)
        attempt += 1
        retry
      end
    end

    def pushed?(reply)
      reply["jid"].is_a?(String) && !reply["jid"].empty?
    end

    def result?(value)
      value.is_a?(Hash) && (pushed?(value) || value["refused"].is_a?(String))
    end
  end

  # A batch that is being filled: add pushes a job into it, together with others. added: how many jobs are stored. duplicates: how many
  # aren't, because another job has their unique lock or the place of their throttle.
  class OpenBatch
    include Opaque

    attr_reader :id, :added, :duplicates

    def initialize(id, client)
      @id = id
      @client = client
      @jobs = []
      @added = @duplicates = 0
    end

    # Adds a job. Options are those of Client#push.
    def add(class_name, args = [], **options)
      raise ArgumentError, "Can't add to batch #{@id.inspect}: it is closed; open another one" if @closed

      @jobs << Json.request({ **options, class: class_name.to_s, args: args, batch: @id })
      flush if @jobs.size >= Client::BATCH
      nil
    end

    # Stores the rest.
    def close
      flush
      @closed = true
    end

    private

    def flush
      jobs = @jobs
      @jobs = []
      @client.push_many(jobs) do |result|
        if result["jid"] then @added += 1
        elsif result["duplicateOf"] || result["throttledBy"] then @duplicates += 1
        else raise Error.new("Job not added to batch #{@id.inspect}: #{result['refused']}", code: "invalid")
        end
      end
    end
  end

  # The first argument of a handler, and Jobs.context of a class with a method `perform`.
  class Context
    include Opaque

    MAX_LINES = 200
    MAX_FIELDS = 50
    MAX_LINE = 1_000
    MAX_NAME = 100
    # A larger whole number has digits that other languages lose.
    MAX_INTEGER = 2**53

    # raw: the payload as text. client: pushes further jobs. batch, flow: those of the job, or nil.
    attr_reader :batch, :flow, :jid, :class_name, :queue, :attempt, :payload, :raw, :client, :log, :token, :given, :since, :reason
    # Prints a line of the log, too.
    attr_writer :printer

    # send_step: sends a request for a step, and returns its answer.
    def initialize(job, client, send_step)
      @send_step = send_step
      @calls = 0
      @batch = job["batch"] && Batch.new(job["batch"], self)
      @flow = job["node"] && Flow.new(job["batch"], job["node"], self)
      @raw = job["payload"]
      @payload = {}
      @jid = job["jid"]
      @class_name = job["class"]
      @queue = job["queue"]
      @attempt = job["attempt"]
      @token = job["token"]
      @given = job.slice("token", "payload", "queue", "receipt")
      @client = client
      @log = Log.new(self)
      @since = Jobs.now
      @lines = []
      @stream = Stream.new(@token, send_step, @log)
      @lock = Monitor.new
      @aborted = @lock.new_cond
    end

    # Reads the payload. Raises JSON::ParserError for one that Ruby can't hold, such as half of an emoji.
    def parse
      @payload = JSON.parse(@raw)
    end

    # Runs a part of the job once, and returns its result. Every later attempt returns the stored result.
    #
    # options: each, retry, backoff, timeout. The block receives a Jobs::Step.
    def step(name, **options, &part)
      raise StepError.new("StepError", "Step #{name.inspect} has no block: expected ctx.step(#{name.inspect}) { … }") unless part

      use_step({ kind: "step", name: name, options: options.transform_values { |value| Json.seconds(value) } }, part)
    end

    # Continues the job after a time: seconds, or a text such as "2h". Ends the attempt.
    def sleep(name, duration)
      use_step({ kind: "sleep", name: name, duration: Json.seconds(duration) })
    end

    # Continues the job with the data of a signal, or with nil after the timeout. Ends the attempt.
    def wait_for(name, key:, timeout:, **options)
      use_step({ kind: "wait", name: name, options: { key: key, timeout: Json.seconds(timeout), **options } })
    end

    # Runs another job, and continues with its result. Ends the attempt. options: those of a push, and give_up_after.
    def run(name, class_name, args = [], **options)
      request = in_step do
        given = Json.request(Json.spelled(options, "step #{name.inspect}"))
        { kind: "child", name: name, class: class_name.to_s, args: Json.list(args, "args"), options: given }
      end
      use_step(request)
    end

    # Calls the block for each item. A later attempt continues after the last item that was done.
    #
    # source: called with a cursor, nil at first; returns the items after it. cursor: returns the cursor after an item; default: the
    # number of items done. Returns the number of items of this attempt.
    def each(name, source, cursor: nil)
      after = use_step({ kind: "cursor", name: name })
      count = stored = 0
      at = Jobs.now
      store = lambda do
        use_step({ kind: "cursor", name: name, cursor: after }) if count > stored
        stored = count
        at = Jobs.now
      end
      begin
        source.call(after).each do |item|
          yield item
          count += 1
          after = cursor ? cursor.call(item) : after.to_i + 1
          store.call if Jobs.now - at >= 1
          raise_if_aborted
        end
      rescue StandardError
        store.call
        raise
      end
      store.call
      count
    end

    # Sends a request. If the server asks for the program's part of a step, runs it, and sends its result.
    def use(request, part = nil)
      body = { **report, call: @calls += 1, **request }
      answer = @send_step.call(body)
      if answer["run"] && part
        outcome, error = outcome_of_part(part, answer["run"], request[:name])
        answer = @send_step.call({ **body, result: outcome })
      end
      return answer["done"]["value"] if answer["done"]
      raise AttemptEnded, "The attempt has ended" unless (failed = answer["failed"])
      raise StepFailed.new(failed["class"], failed["message"]) if failed["final"]
      raise error if error

      raise StepError.new(failed["class"], Json.spelled_back(failed["message"]))
    end

    # Reports the progress of the job.
    def progress(done, note = nil)
      unless done.is_a?(Numeric) && done.real? && done.to_f.finite?
        raise TypeError, "Invalid progress #{done.inspect}: expected a number"
      end

      exact = done.is_a?(Integer) && done.abs < MAX_INTEGER
      @lock.synchronize do
        @progress = { done: exact ? done : done.to_f, note: note && Json.readable(note)[0, MAX_LINE] }.compact
      end
    end

    # Adds a chunk to the stream of the job: a text, or another value that is JSON. Chunks are sent together, ten times a second.
    # `jobs stream` and GET /api/v1/jobs/JID/stream read them while the job runs.
    def stream(chunk)
      @stream.write(chunk)
    end

    # Sends the rest of the stream.
    def finish_stream
      @stream.finish
    end

    # Whether the job must end. A handler looks at it now and then: no thread is interrupted.
    def aborted?
      !@reason.nil?
    end

    # Raises Aborted if the job must end.
    def raise_if_aborted
      raise Aborted, @reason if @reason
    end

    # Sleeps. Raises Aborted as soon as the job must end.
    def wait(seconds)
      deadline = Jobs.now + seconds
      @lock.synchronize do
        while @reason.nil? && (left = deadline - Jobs.now).positive?
          @aborted.wait(left)
        end
      end
      raise_if_aborted
    end

    # Adds a line to the log of the job, which is kept with it.
    def add_line(level, message, fields)
      line = { level: level, message: Json.readable(message)[0, MAX_LINE] }
      unless fields.empty?
        line[:fields] = fields.first(MAX_FIELDS).to_h { |name, value| [Json.readable(name)[0, MAX_NAME], field(value)] }
      end
      @lock.synchronize { (@lines << line).shift([0, @lines.size - MAX_LINES].max) }
      @printer&.call(level, line[:message], line[:fields] || {})
    end

    # Returns the value of a field as JSON can hold it.
    def field(value)
      return value if [nil, true, false].include?(value) || (value.is_a?(Float) && value.finite?)
      return value if value.is_a?(Integer) && value.abs < MAX_INTEGER

      Json.readable(value)[0, MAX_LINE]
    end

    # Returns what the job has reported since the last request.
    def report
      @lock.synchronize do
        lines = @lines
        @lines = []
        { token: @token, progress: @progress, log: lines.empty? ? nil : lines }.compact
      end
    end

    def abort(reason)
      @lock.synchronize do
        @reason ||= reason
        @aborted.broadcast
      end
    end

    private

    # Sends a request for a step. One that JSON can't hold is misuse of the step.
    def use_step(request, part = nil)
      in_step { Json.check(request, "") }
      use(request, part)
    end

    def in_step
      yield
    rescue ArgumentError => e
      raise StepError.new("StepError", e.message)
    end

    def outcome_of_part(part, run, name)
      limit = run["timeoutMs"] && run["timeoutMs"] / 1000.0
      value = part.call(Step.new(run["idempotencyKey"], run["attempt"], limit))
      in_step { Json.check(value, "The result of step #{name.inspect}") }
      [{ end: "succeeded", result: value }.compact, nil]
    rescue StandardError => e
      [Outcome.of(e), e]
    end

    # The stream of one attempt. A thread sends the chunks that have gathered.
    class Stream
      include Opaque

      REST = 0.1
      FULL = 250_000
      MAX_CHUNKS = 500
      MAX_CHUNK = 65_536

      def initialize(token, send, log)
        @token = token
        @send = send
        @log = log
        @lock = Mutex.new
        @sending = Mutex.new
        @chunks = []
        @size = @from = 0
      end

      def write(chunk)
        size = Json.text(chunk, "The chunk").size
        raise TypeError, "Chunk too large: expected at most #{MAX_CHUNK} characters of JSON" if size > MAX_CHUNK

        full = @lock.synchronize do
          raise TypeError, "A chunk comes after its handler has ended" if @closed

          @chunks << chunk
          @timer ||= Thread.new { Kernel.sleep(REST) && flush }
          (@size += size) >= FULL
        end
        flush if full
      end

      def finish
        @lock.synchronize { @closed = true }
        flush if @timer
      end

      private

      def flush
        @sending.synchronize do
          while (chunks = taken)
            body = { token: @token, from: @from, chunks: chunks }
            @from += chunks.size
            begin
              @send.call(body, "/work/stream")
            rescue Error => e
              @log.warn("Chunks not streamed: #{e.message}")
            end
          end
        end
      end

      # Returns the next chunks to send; nil without any.
      def taken
        @lock.synchronize do
          chunks = @chunks.shift(MAX_CHUNKS)
          @size = 0 if @chunks.empty?
          @timer = nil if chunks.empty?
          chunks unless chunks.empty?
        end
      end
    end

    # The log of a job: ctx.log.info("imported", rows: 12).
    class Log
      include Opaque

      def initialize(context)
        @context = context
      end

      %w[debug info warn error].each do |level|
        define_method(level) { |message, **fields| @context.add_line(level, message, fields) }
      end
    end
  end

  # How an attempt, or a part of one, has ended with an error.
  module Outcome
    MAX_TEXT = 20_000
    MAX_CAUSES = 10
    MAX_CAUSE = 500

    def self.of(error)
      return { end: "snooze", in: error.delay } if error.is_a?(Snooze)

      ending = { Discard => "discard", Kill => "kill", StepFailed => "kill" }.find { |kind, _| error.is_a?(kind) }&.last || "failed"
      name = case error
             when Aborted then error.reason
             when StepFailed then error.kind
             else Json.readable(error.class.name)
             end
      stack = (error.backtrace || []).first(50).map { |at| "at #{Json.readable(at)}"[0, Context::MAX_LINE] }
      described = { class: name, message: message_of(error)[0, MAX_TEXT], stack: stack, causes: causes_of(error) }
      { end: ending, error: described.compact }
    end

    # Returns the causes of an error, one line each; nil if it has none.
    def self.causes_of(error)
      lines = []
      while (error = error.cause) && lines.size < MAX_CAUSES
        lines << "caused by #{Json.readable(error.class)}: #{message_of(error)}"[0, MAX_CAUSE]
      end
      lines unless lines.empty?
    end

    # Returns the message of an error as JSON can hold it. That of another class may be a method that fails.
    def self.message_of(error)
      Json.readable(error.message)
    rescue Exception
      "(its message cannot be read)"
    end
  end

  # Performs jobs in this process.
  #
  #   class Report
  #     extend Jobs::Options
  #     jobs_options queue: "reports", retry: 5
  #
  #     def perform(month) = Jobs.context.log.info("report of #{month}")
  #   end
  #   Add = Jobs.handler(result_ttl: "1h") { |ctx, a, b| a + b }
  #
  #   Jobs::Worker.new("http://127.0.0.1:7433", handlers: { "Report" => Report, "Add" => Add }, token: ENV["JOBS_TOKEN"]).run
  #
  # Each job runs on a thread. TERM and INT take no more jobs, wait for the running ones for shutdown_timeout seconds, and give the
  # others back. TTIN prints the running jobs.
  #
  # url: the dashboard's address, or those of several gateways on one store: when one fails, the worker continues at the next.
  # handlers: by class name, or a list of classes: what responds to `call(ctx, *args)`, and whose value is the result; a class with
  # `perform(*args)`; a class of ActiveJob (Jobs.active_jobs has all).
  # concurrency: how many jobs run at once. queues: the queues to take from; default: those of the handlers.
  # executor: wraps each job, such as Rails.application.reloader.
  class Worker
    include Opaque

    MAX_TAKEN = 100
    MAX_SETTLED = 1_000
    # Outcomes share a request up to this size, which the server bounds. A larger result isn't sent.
    MAX_REQUEST = 1_000_000
    MAX_RESULT = 500_000
    TAKE_WAIT = 25
    MIN_TAKE_WAIT = 2
    # After the shutdown timeout: until jobs that don't end are given back, and then until ends that can't be stored are given up.
    GIVE_BACK = 3
    GIVE_UP = 1
    MAX_DEREGISTER = 5
    MIN_REPLY = 5.0
    MAX_REPLY = 10.0
    # Seconds between heartbeats while jobs run, and after a job has begun.
    BUSY_BEAT = 1.0
    # Statuses of a request that can't succeed as it is: invalid, or larger than the server or a proxy accepts.
    REFUSED = [400, 413, 422].freeze
    # Codes of replies that aren't the API's.
    FOREIGN = %w[redirected invalid_reply unavailable].freeze
    # The fields of the replies.
    EXPECTED = {
      "/work/register" => { "worker" => String, "running" => Array },
      "/work/take" => { "jobs" => Array },
      "/work/settle" => { "lost" => Array },
      "/work/heartbeat" => { "aborted" => Array, "lost" => Array }
    }.freeze
    MIN_BEAT = 0.1

    OPTIONS = %w[handlers token concurrency queues labels shutdown_timeout executor log_level].freeze
    # Of what the worker prints, in order.
    LEVELS = %w[debug info warn error off].freeze
    # What is printed when an attempt ends in this way.
    ENDS = {
      "failed" => ["warn", "Failed"], "kill" => ["error", "Failed for good"],
      "discard" => %w[info Discarded], "snooze" => %w[info Snoozed]
    }.freeze

    # log_level: what is printed on stderr, as JSON lines: "debug", "info", "warn", "error" or "off". Failures are warnings, with their
    # backtrace; what a handler logs has the level of the line. The option log_level of a class or a job drops more.
    def initialize(url, handlers: {}, token: nil, concurrency: 10, queues: nil, labels: nil, shutdown_timeout: 25, executor: nil,
                   log_level: "info", **unknown)
      Jobs.refuse_unknown(unknown, "Jobs::Worker.new", OPTIONS)
      unless LEVELS.include?(log_level.to_s)
        raise ArgumentError, "Invalid log_level #{log_level.inspect}: expected #{LEVELS.join(', ')}"
      end

      @log_level = log_level.to_s
      named = handlers.is_a?(Hash) ? handlers : handlers.to_h { |handler| [handler.name, handler] }
      @handlers = named.to_h { |name, handler| [name.to_s, Handler.new(name.to_s, handler)] }
      @classes = @handlers.to_h { |name, handler| [name, Json.request(handler.options, name)] }
      raise ArgumentError, "Missing handlers: expected classes, such as handlers: [Report]" if @handlers.empty?
      unless concurrency.is_a?(Integer) && concurrency.between?(1, 1_000)
        raise ArgumentError, "Invalid concurrency #{concurrency.inspect}: expected a whole number from 1 to 1000"
      end

      @servers = Servers.new(url) { interrupt_taker }
      @token = Jobs.token_of(token)
      @client = Client.new(url, token: token)
      @concurrency = concurrency
      @queues = queues
      @labels = labels
      @shutdown_timeout = shutdown_timeout
      @executor = executor
      @lock = Monitor.new
      @changed = @lock.new_cond
      @registering = Mutex.new
      # Numbers the registrations; the other counts those that were answered.
      @registration = 0
      @registrations = 0
      @nonce = SecureRandom.hex(6)
      @running = {}
      # Each with the job as it was given.
      @ended = []
      # Connections for steps that no thread uses.
      @lines = []
      @take = 0
      @take_wait = TAKE_WAIT
      # The last request for jobs whose answer it doesn't wait for any more: those jobs run, or have ended.
      @taken = 0
      @timeout = 20.0
      # How long a reply may take, without the time that the server waits. With several servers, less: there is time to continue at the next.
      @reply = MAX_REPLY
      # When it began to register last.
      @registered_at = 0.0
    end

    # Performs jobs until the worker is stopped. Raises Jobs::Error if the server refuses the worker, or doesn't store the ends of jobs
    # before the stop must end.
    def run
      signals, ears = listen
      register(Line.new(@servers, @token))
      return say("info", "Stopped") unless @id

      threads = %i[take_loop settle_loop beat_loop].map { |part| Thread.new { guarded { send(part) } } }
      @lock.synchronize { @changed.wait(0.5) until @done }
      # If a part has failed, a request for jobs is open.
      interrupt_taker
      @given_up ? threads[1].kill.join : threads[1].join(30)
      # A heartbeat that was sent while jobs ran waits for seconds.
      threads[2].kill.join
      raise @failure if @failure

      deregister
      say("info", "Stopped")
    ensure
      @traps = nil
      signals&.each { |name, before| Signal.trap(name, before || "DEFAULT") }
      ears&.kill
    end

    # Takes no more jobs, and ends `run` when the running ones have ended.
    def stop(by = "the program")
      @lock.synchronize do
        return if @stopping

        @stopping = true
        @changed.broadcast
      end
      interrupt_taker
      say("info", "Stopping", by: by, running: @running.size)
      Thread.new { end_late }
      check_done
    end

    # Describes each running job, one line each.
    def dump
      contexts = @lock.synchronize { @running.values }
      lines = contexts.map do |one|
        reason = one.reason ? " (#{one.reason})" : ""
        "#{one.class_name} #{one.jid} #{one.payload['args'].to_json[0, 100]} for #{((Jobs.now - one.since) * 1000).round} ms#{reason}"
      end
      ["#{@id}: #{contexts.size} of #{@concurrency} running", *lines].join("\n")
    end

    private

    # Ends the open request for jobs.
    class Interrupted < StandardError; end
    private_constant :Interrupted

    def deregister
      tries ||= 3
      deadline ||= Jobs.now + MAX_DEREGISTER
      left = [0.1, deadline - Jobs.now].max
      Line.new(@servers, @token).request("POST", "/work/deregister", body: Json.generate(worker: @id), timeout: left)
    rescue Error => e
      return if e.field == "worker" || (tries -= 1).zero? || Jobs.now >= deadline # Its heartbeat expires.

      sleep(0.3)
      retry
    end

    # Handles signals on a thread: a handler of signals may take no lock.
    def listen
      return unless Thread.current == Thread.main

      heard, bell = IO.pipe
      pid = Process.pid
      @traps = %w[TERM INT TTIN].to_h do |name|
        trap = lambda do |_|
          if Process.pid == pid then bell.puts(name)
          else
            # A handler has forked this process: the signal has its usual effect, and doesn't reach the worker.
            Signal.trap(name, "DEFAULT")
            Process.kill(name, Process.pid)
          end
        end
        [name, trap]
      end
      before = @traps.to_h { |name, trap| [name, Signal.trap(name, trap)] }
      ears = Thread.new do
        while (name = heard.gets&.strip)
          name == "TTIN" ? warn(dump) : stop("SIG#{name}")
        end
      end
      [before, ears]
    end

    # Takes back the signals that a handler has trapped: the worker would not stop by them any more.
    def listen_again
      @traps&.each do |name, trap|
        next if @done || Signal.trap(name, trap).equal?(trap)

        say("warn", "A handler had trapped a signal of the worker, which has taken it back", signal: "SIG#{name}")
      end
    end

    def guarded
      yield
    rescue Exception => e # The whole worker ends with a part of it.
      @lock.synchronize do
        @failure ||= e
        @stopping = @done = true
        @changed.broadcast
      end
    end

    def register(line)
      body = {
        protocol: PROTOCOL, runtime: "ruby #{RUBY_VERSION}", client: CLIENT, pid: Process.pid, nonce: @nonce,
        hostname: Socket.gethostname.gsub(/[\s:]/, "-"), concurrency: @concurrency, queues: @queues, labels: @labels,
        classes: @classes
      }.compact
      @lock.synchronize do
        body.update(registration: @registration += 1, taken: @taken)
        body[:running] = @running.values.map(&:given) + @ended.map(&:first) if @id
      end
      text = Json.text(body)
      answer = repeat { exchange(line, "/work/register", text) }
      return unless answer # Stopped before the server was reached.

      @id = answer["worker"]
      @registrations += 1
      @heartbeat = answer["heartbeatMs"] / 1000.0
      @timeout = answer["timeoutMs"] / 1000.0
      @reply = (@timeout / 4).clamp(MIN_REPLY, MAX_REPLY) unless @servers.only?
      lost = @lock.synchronize { @running.keys - answer["running"] }
      lost.each { |token| drop(token) }
      say("info", "Started", worker: @id, classes: @handlers.keys.join(" "))
    end

    def take_loop
      line = Line.new(@servers, @token, keep: true)
      loop do
        limit = @lock.synchronize do
          @changed.wait_while { !@stopping && (@quiet || @running.size >= @concurrency) }
          break if @stopping

          [MAX_TAKEN, @concurrency - @running.size].min
        end
        return unless limit

        @take += 1
        since = Jobs.now
        answer = taking { request(line, "/work/take", { take: @take, limit: limit }, TAKE_WAIT) } || {}
        confirmed(line, answer.fetch("jobs", []), since).each { |job| start(job) }
        @lock.synchronize { @taken = @take }
        obey(answer)
      end
    end

    # Runs a request that `interrupt_taker` may end.
    def taking
      Thread.handle_interrupt(Interrupted => :never) do
        @lock.synchronize { @taker = @stopping ? nil : Thread.current }
        return unless @taker

        begin
          Thread.handle_interrupt(Interrupted => :immediate) { yield }
        ensure
          @lock.synchronize { @taker = nil }
        end
      end
    rescue Interrupted
      nil
    end

    # Ends the open request for jobs: a closed one takes no more.
    def interrupt_taker
      @lock.synchronize { @taker.raise(Interrupted) if @taker && @taker != Thread.current }
    end

    # Returns those jobs that are still this worker's: while a reply was on its way for long, others may have got them. The server is told
    # before a job begins that may have killed another worker: it is blamed if this one dies then, too.
    def confirmed(line, jobs, since)
      limit = [@heartbeat, @timeout / 2].min
      told = jobs.none? { |job| job["suspect"] }
      until jobs.empty? || told && Jobs.now - since < limit && @registered_at <= since
        told = true
        since = Jobs.now
        held = @lock.synchronize { @running.keys + @ended.map { |given, _| given["token"] } } + jobs.map { |job| job["token"] }
        answer = request(line, "/work/heartbeat", { running: held.map { |token| { token: token } } }, 0)
        lost = answer ? answer["lost"] + answer["aborted"].map { |one| one["token"] } : held
        jobs = jobs.reject { |job| lost.include?(job["token"]) }
      end
      jobs
    end

    def start(job)
      context = Context.new(job, @client, method(:use))
      context.printer = ->(level, message, fields) { say_of(context, level, message, fields) }
      @lock.synchronize do
        @running[context.token] = context
        @changed.broadcast
      end
      Thread.new { perform(context) }
    end

    def perform(context)
      Thread.current.report_on_exception = false
      Thread.current.thread_variable_set(:jobs_context, context)
      return if stood_still?(context) && !held?(context)

      context.parse
      handler = @handlers[context.class_name] || raise(NameError, "No handler for class #{context.class_name.inspect}")
      result = @executor ? @executor.wrap { handler.call(context) } : handler.call(context)
      finish(context, success(context, result))
    rescue Exception => e # Also what a handler shouldn't raise: SystemExit, NotImplementedError.
      outcome = Outcome.of(e)
      say_end(context, e, outcome)
      finish(context, outcome)
    ensure
      # The handler has ended its thread.
      unless @done || !@running.key?(context.token)
        finish(context, { end: "failed", error: { class: "ThreadError", message: "The handler has ended its thread" } })
      end
    end

    # Prints how an attempt has ended.
    def say_end(context, error, outcome)
      return if error.is_a?(AttemptEnded)

      level, message = context.reason ? %w[info Aborted] : ENDS.fetch(outcome[:end])
      trace = level == "info" ? nil : backtrace_of(error)
      described = "#{Json.readable(error.class.name)}: #{Outcome.message_of(error)}"
      say_of(context, level, message, { attempt: context.attempt, error: described, backtrace: trace }.compact)
    end

    def backtrace_of(error)
      Json.readable(error.full_message(highlight: false, order: :top))[0, Outcome::MAX_TEXT]
    rescue Exception # Of the error's class.
      Json.readable((error.backtrace || []).join("\n"))[0, Outcome::MAX_TEXT]
    end

    # Prints a line about a job, unless the job or its class drops those of this level.
    def say_of(context, level, message, fields)
      options = @handlers[context.class_name]&.options || {}
      least = (context.payload || {})["log_level"] || options[:log_level] || options["log_level"]
      return if (LEVELS.index(least.to_s) || 0) > LEVELS.index(level)

      own = { class: context.class_name, jid: context.jid, queue: context.queue }
      say(level, message, **fields.transform_keys(&:to_sym).reject { |name, _| OWN.include?(name) }, **own)
    end

    # The fields of a line that those of a handler don't replace.
    OWN = %i[ts level name msg].freeze

    # Whether this process stood still, as a suspended machine does, between the reply and the begin of the job.
    def stood_still?(context)
      Jobs.now - context.since >= [@heartbeat, @timeout / 2].min
    end

    # Asks whether a job is still this worker's.
    def held?(context)
      held = @lock.synchronize { @running.keys + @ended.map { |given, _| given["token"] } }
      lost = use({ running: held.map { |token| { token: token } } }, "/work/heartbeat").fetch("lost", [])
      @lock.synchronize do
        @running.delete(context.token) if lost.include?(context.token)
        @changed.broadcast
      end
      check_done
      @running.key?(context.token)
    end

    # Sends a request for a step or a stream, on a connection that no other thread uses.
    def use(body, path = "/work/step")
      line = @lock.synchronize { @lines.pop } || Line.new(@servers, @token, keep: true)
      request(line, path, body, 0) || { "ends" => true }
    rescue Error => e
      raise unless e.status == 409 && e.field == "token"

      { "ends" => true } # The job is no longer this worker's.
    ensure
      @lock.synchronize { @lines << line }
    end

    def success(context, result)
      return { end: "succeeded" } if result.nil?

      size = Json.text(result, "The result").size
      return { end: "succeeded", result: result } if size <= MAX_RESULT

      context.log.warn("The result wasn't kept: #{size} characters")
      { end: "succeeded" }
    rescue StandardError => e
      # The job has done its work: it isn't repeated for the sake of a result that can't be sent.
      context.log.warn("The result wasn't kept: #{Outcome.message_of(e)}")
      { end: "succeeded" }
    end

    def finish(context, outcome)
      context.finish_stream
      # An error after the shutdown timeout isn't a failure of the job. A decision of the handler counts.
      outcome = { end: "release" } if context.reason == "Shutdown" && outcome[:end] == "failed"
      @lock.synchronize do
        @ended << [context.given, { **context.report, **outcome }] if @running.delete(context.token)
        @changed.broadcast
      end
    end

    def settle_loop
      line = Line.new(@servers, @token, keep: true)
      limit = MAX_SETTLED
      refused = nil
      loop do
        outcomes = @lock.synchronize do
          @changed.wait_while { @ended.empty? && !@done }
          fitting(@ended.first(limit).map(&:last))
        end
        return if outcomes.empty?

        begin
          answer = request(line, "/work/settle", { outcomes: outcomes }, 0) || {}
        rescue Error => e
          # One end that the server refuses fails its own job, and holds back no other.
          token = outcomes[0][:token]
          raise if !REFUSED.include?(e.status) || token == refused

          next limit = (outcomes.size + 1) / 2 if outcomes.size > 1

          refused = token
          error = { class: "Jobs::Error", message: "The server refused its end: #{e.message}" }
          @lock.synchronize { @ended[0] = [@ended[0][0], { token: token, end: "failed", error: error }] }
          next
        end
        limit = MAX_SETTLED
        @lock.synchronize { @ended.shift(outcomes.size) }
        lost = answer.fetch("lost", []).size
        say("warn", "Leases lost: these jobs run again", count: lost) if lost.positive?
        check_done
      end
    end

    # Returns the first outcomes that fit into one request; at least one.
    def fitting(outcomes)
      size = 0
      count = outcomes.index { |outcome| (size += Json.generate(outcome).size) > MAX_REQUEST }
      count ? outcomes.first([1, count].max) : outcomes
    end

    # Tells the server that this worker lives. While jobs run, the answer waits until the server has something to say.
    def beat_loop
      line = Line.new(@servers, @token, keep: true)
      until @done
        contexts, ended, taken = @lock.synchronize do
          [@running.values, @ended.map { |given, _| { token: given["token"] } }, @taken]
        end
        # Also those whose ends aren't stored yet: the server would take them for forgotten.
        running = reports_of(contexts) + ended
        wait = running.any? && !@stopping ? @heartbeat : 0
        listen_again
        began = Jobs.now
        body = { running: running, taken: taken, rss: rss, wait: wait.positive? ? wait : nil }.compact
        obey(beat(line, body, wait) || {})
        rest = wait.zero? ? @heartbeat : Jobs.now - began >= wait ? MIN_BEAT : BUSY_BEAT
        pause(rest) { @done || running.empty? && @running.any? }
        sleep(MIN_BEAT) unless @done
      end
    end

    # Returns the reports of jobs. Lines that are too many for one request wait for the next heartbeat.
    def reports_of(contexts)
      size = 0
      contexts.map do |context|
        next { token: context.token } if size > MAX_REQUEST / 2

        context.report.tap { |report| size += Json.generate(report).size if report[:log] }
      end
    end

    # Sends a heartbeat. A server that refuses what jobs report still learns that they run.
    def beat(line, body, wait)
      request(line, "/work/heartbeat", body, wait)
    rescue Error => e
      raise if !REFUSED.include?(e.status) || body[:running].all? { |one| one.size == 1 }

      say("warn", "Dropped the progress and log lines that the server refused", error: e.message)
      request(line, "/work/heartbeat", { **body, running: body[:running].map { |one| one.slice(:token) } }, wait)
    end

    def pause(seconds)
      deadline = Jobs.now + seconds
      @lock.synchronize do
        until yield || (left = deadline - Jobs.now) <= 0
          @changed.wait(left)
        end
      end
    end

    def obey(orders)
      orders.fetch("aborted", []).each { |one| @running[one["token"]]&.abort(one["reason"]) }
      orders.fetch("lost", []).each { |token| drop(token) }
      @lock.synchronize do
        @quiet = orders.fetch("quiet", @quiet)
        @changed.broadcast
      end
      stop("jobs") if orders["stopping"]
      check_done
    end

    def drop(token)
      context = @lock.synchronize { @running.delete(token) }
      context&.abort("LeaseLost")
    end

    # Ends the jobs that run after the shutdown timeout, and gives back those that don't end. Then the worker stops.
    def end_late
      sleep(@shutdown_timeout)
      @lock.synchronize { @running.values }.each { |context| context.abort("Shutdown") }
      sleep(GIVE_BACK)
      @lock.synchronize { @running.values }.each do |context|
        say("warn", "Unfinished job returned", jid: context.jid)
        finish(context, { end: "release" })
      end
      sleep(GIVE_UP)
      @lock.synchronize do
        next if @done

        message = "Stopped before the server stored the ends of #{@ended.size} jobs: they run again"
        @failure = Error.new(message, code: "unreachable")
        @given_up = @done = true
        @changed.broadcast
      end
    end

    def check_done
      @lock.synchronize do
        @done ||= @stopping && @running.empty? && @ended.empty?
        @changed.broadcast
      end
    end

    # Sends a request of this worker until it is answered. Registers again if the worker is unknown.
    def request(line, path, body, wait)
      repeat do
        since = @registrations
        more = path == "/work/take" ? { wait: @take_wait } : {}
        begin
          exchange(line, path, Json.generate({ worker: @id, **body, **more }), wait)
        rescue Error => e
          # A proxy waits for less long.
          @take_wait = [MIN_TAKE_WAIT, @take_wait / 2.0].max if more.any? && e.status == 504
          raise unless e.status == 404 && e.field == "worker"
          next if path == "/work/take" && @stopping

          again(line, since)
          exchange(line, path, Json.generate({ worker: @id, **body, **more }), wait)
        end
      end
    end

    def exchange(line, path, text, wait = 0)
      line.request("POST", path, body: text, timeout: @reply + wait) do |answer|
        EXPECTED.fetch(path, {}).all? { |name, kind| answer[name].is_a?(kind) }
      end
    end

    # The server doesn't know this worker any more, or is another one: it is shown the running jobs.
    def again(line, since)
      @registering.synchronize do
        next unless @registrations == since

        say("warn", "Unknown to the server: registering again", running: @running.size)
        @registered_at = Jobs.now
        register(line)
      end
    end

    # Returns nil if the worker is done before the request is answered.
    def repeat
      failures = 0
      again = nil
      begin
        answer = yield
        say("info", again) if failures.positive?
        answer
      rescue Error => e
        # Once this worker has registered, a reply that isn't the API's is a proxy's in between, which passes.
        unknown = e.status == 404 && e.field == "worker" # The server may have been replaced again.
        raise unless e.transient? || unknown || @id && !REFUSED.include?(e.status) && FOREIGN.include?(e.code)
        return nil if @done || @stopping && @id.nil?

        if failures.zero? && e.status.nil?
          again = "Server reached again"
          say("warn", "Server not reached, retrying", error: e.message)
        elsif failures.zero?
          again = "Server accepts requests again"
          say("warn", "Server refused a request, retrying", status: e.status, error: e.message)
        end
        pause(e.retry_after || [5.0, 0.2 * (2**failures)].min * rand(0.5..1.0)) { @done || @stopping && @id.nil? }
        failures += 1
        retry
      end
    end

    def rss
      File.read("/proc/self/statm").split[1].to_i * Etc.sysconf(Etc::SC_PAGESIZE)
    rescue SystemCallError
      0
    end

    def say(level, message, **fields)
      return if LEVELS.index(level) < LEVELS.index(@log_level)

      plain = [Integer, Float, true, false, nil]
      readable = fields.transform_values { |value| plain.any? { |kind| kind === value } ? value : Json.readable(value) }
      line = { ts: Time.now.utc.iso8601(3), level: level, name: "worker", msg: message, **readable }
      $stderr.write("#{Json.generate(line)}\n")
    end
  end

  # The code that performs a class, in one of three forms.
  class Handler
    attr_reader :options

    def initialize(name, code)
      @code = code
      own = code.respond_to?(:jobs_options) ? code.jobs_options : {}
      @kind = kind_of(code)
      raise ArgumentError, "Handler #{name.inspect} can't be called: expected a block, or a class with `perform`" unless @kind

      # A queue that is computed for each job is named in `queues` of the worker.
      queue = @kind == :active_job && code.queue_name.is_a?(String) ? { queue: code.queue_name } : {}
      @options = { **queue, **own }
    end

    # Performs a job. Only a callable returns a result: the last value of a method `perform` is rarely meant as one.
    def call(context)
      args = context.payload.fetch("args", [])
      case @kind
      when :callable then @code.call(context, *args)
      when :performer
        job = @code.new
        job.jid = context.jid if job.respond_to?(:jid=) # A class of Sidekiq.
        job.perform(*args)
        nil
      when :active_job
        ActiveJob::Base.execute(args.first.merge("provider_job_id" => context.jid))
        nil
      end
    end

    private

    def kind_of(code)
      return :active_job if defined?(ActiveJob::Base) && code.is_a?(Class) && code < ActiveJob::Base
      return :performer if code.is_a?(Class) && code.method_defined?(:perform)

      :callable if code.respond_to?(:call)
    end
  end

  # The queue adapter of ActiveJob: stores jobs under the names of their classes, so that limits, pages and metrics show them.
  #
  #   config.active_job.queue_adapter = Jobs::ActiveJobAdapter.new("http://127.0.0.1:7433", token: ENV["JOBS_TOKEN"])
  #
  # Options of a class (`extend Jobs::Options`) are those that a worker has registered. `priority` of ActiveJob has no effect.
  class ActiveJobAdapter
    include Opaque

    def initialize(url, **options)
      @client = Client.new(url, **options)
    end

    def enqueue(job)
      push(job)
    end

    # timestamp: epoch seconds.
    def enqueue_at(job, timestamp)
      push(job, at: timestamp)
    end

    # Stores many jobs at once, for ActiveJob.perform_all_later. Returns how many were stored.
    def enqueue_all(jobs)
      requests = jobs.map { |job| request(job).merge(job.scheduled_at ? { at: job.scheduled_at.to_f } : {}) }
      jobs.zip(@client.push_many(requests)).count do |job, result|
        job.provider_job_id = result["jid"]
        job.successfully_enqueued = !result["jid"].nil? if job.respond_to?(:successfully_enqueued=)
        result["jid"]
      end
    end

    # Rails 7.2: jobs of a transaction are pushed when it has been committed.
    def enqueue_after_transaction_commit?
      true
    end

    # Rails 8.1: whether the worker of this process stops. A job learns it from Jobs.context.
    def stopping?
      Jobs.context&.reason == "Shutdown"
    end

    private

    def push(job, **options)
      name, args, queue = request(job).values_at(:class, :args, :queue)
      pushed = @client.push(name, args, queue: queue, **options)
      job.provider_job_id = pushed["jid"]
    end

    def request(job)
      { class: job.class.name, args: [job.serialize], queue: job.queue_name }
    end
  end

  # Seconds of a clock that never jumps.
  def self.now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
