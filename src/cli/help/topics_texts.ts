/**
 * The short texts of `jobs help TOPIC`, at most 80 columns wide.
 *
 * @module
 */

/** Texts by topic. */
export const TEXTS: Readonly<Record<string, string>> = {
  "queue-order": `
Queue order

Pushing to a queue creates it. Within a queue, jobs are fetched first in, first
out.

  jobs push ImportFile a.csv -q critical   default: default
  jobs run h.js -q critical -q default     critical first, always
  jobs run h.js -q critical,2 -q default,1 by weight: two in three fetches begin
                                           with critical
  jobs run h.js                            default, then the handlers' queues

A worker processes the queues of its list only. jobs doctor names queues
without a worker.

  jobs queues                              size, latency, pauses, limits
  jobs list queued -q critical             the jobs in it, in order
  jobs pause critical --for 10m            stop processing it; jobs resume ends
                                           the pause early
  jobs limit mail --running 2              at most two at once, on all workers
  jobs limit mail --starts 100/1m          at most 100 starts in any minute
  jobs clear critical                      delete its queued jobs`,

  retries: `
Retries

A job that throws is retried: about 15 seconds after the first failure, then
with growing delays (count^4 + 15 s, plus jitter), 25 times over about three
weeks. Then it is dead. The dead set keeps 10,000 jobs for 180 days.

  jobs push Mail --retry 3                 this often; --retry false: never
  Mail.options = { retry: 3 }              for a class
  maxRetries                               the setting for all others

  jobs errors                              failed jobs by class and error
  jobs list retrying, jobs list dead       failed jobs with their errors
  jobs show JID                            every attempt with its error
  jobs retry JID | --all dead              run them now; the next attempt isn't
                                           counted
  jobs kill JID                            to the dead set
  jobs delete JID                          delete it

A handler that throws a Discard drops its job, a Kill makes it dead, a Snooze
runs it later without counting a failure. If a worker crashes, its jobs haven't
failed: they run again. A job that has crashed its worker three times
(maxRescues) is dead.`,

  handlers: `
Handlers

A handler is an exported function of a JavaScript or TypeScript module. Its name
is the class.

  export async function ImportFile(ctx, path, rows) {
    ctx.log.info("Importing");
    for (let row = 0; row < rows; row++) {
      ctx.signal.throwIfAborted();         // shutdown, timeout or cancel
      ctx.progress(row, "rows");           // shown by jobs show
    }
    return { rows };                       // the result, kept for a while
  }
  ImportFile.options = { queue: "low", retry: 5, timeout: "10m" };

  jobs run handlers.js                     or folders of modules, or "handlers"
                                           in the configuration
  jobs doctor handlers.js                  check whether they load

With isolate: true, a class runs in isolated processes, which can be killed. A
job may also be a program in any language: "exec" in the configuration. Its
stdin is the payload, its exit code the outcome (jobs help exit-codes).`,

  "cron-syntax": `
Cron syntax

Cron entries are under "cron" in the configuration, or added with jobs cron add.
Each run is enqueued once, however many workers there are.

  { "name": "nightly", "rule": "30 3 * * 1-5", "timezone": "Europe/London",
    "class": "Report", "overlap": "skip" }

  rule        ┌ minute (0-59)
              │ ┌ hour (0-23)
              │ │ ┌ day of month (1-31, L the last)
              │ │ │ ┌ month (1-12, jan-dec)
              │ │ │ │ ┌ day of week (0-7, sun-sat; 0 and 7 are Sunday;
              │ │ │ │ │ 5L the last Friday, 5#2 the second)
              * * * * *   with six fields, the first is seconds;
                          lists 1,2, ranges 1-5, steps */5
              @hourly @daily @weekly @monthly @yearly
  every       an interval instead of a rule: "10m"
  overlap     allow, skip, queue-one or replace, if the job of the run before
              hasn't finished
  catchUp     none, last or all of the missed runs

jobs cron --help lists the commands.`,

  stores: `
Stores

The store is --store URL, else JOBS_STORE, else REDIS_URL, else "store" in the
configuration, else sqlite:~/.local/state/jobs/jobs.db (under XDG_STATE_HOME if
that is set).

  sqlite:PATH                     a file, for all workers of one machine
  sqlite:PATH?durability=normal   faster; a power cut may lose the latest jobs
  redis://[USER:PASSWORD@]HOST[:PORT][/DB]
                                  Redis 7.0 or later, with maxmemory-policy
                                  noeviction; any number of machines
  rediss://…                      over TLS; ?ca=PATH for the CA certificate
  redis+unix:/PATH?db=N           over a socket
  redis+sentinel://HOST,HOST/NAME[/DB]
                                  by Sentinel
  postgres://USER:PASSWORD@HOST[:PORT]/DATABASE
                                  PostgreSQL 14 or later; ?schema=, sslmode=,
                                  sslrootcert=FILE for the CA certificate,
                                  prepare=false and listen=HOST:PORT behind a
                                  pooler, host=FOLDER for a socket

On SQLite an acknowledged job is on disk, on PostgreSQL as its
synchronous_commit says. On Redis this depends on its
appendfsync: with always it is, with everysec a power cut loses up to two
seconds. On Redis, keys and payloads are in Sidekiq's format: Ruby clients and
workers can share them.

  jobs doctor                     check the store
  jobs backup FILE                copy a SQLite store while it is in use
  jobs migrate --from URL --to URL
                                  move everything to another store
  jobs schema                     migrate the schema of a PostgreSQL store
  jobs bench                      measure it on this machine`,

  signals: `
Signals

A worker (jobs run) handles:

  TERM, INT     graceful shutdown: fetch no more jobs, wait for running ones
                (shutdownTimeout, 25 s), return the others, exit with 0:
                at most 3 s later. A second signal: at once, still
                returning jobs
  TSTP, USR1    quiet: fetch no more jobs, finish running ones
  CONT          resume
  TTIN          log what every task is doing
  USR2          reopen the log file, after logrotate has moved it
  HUP           reload the settings marked * in jobs help settings; stop, if
                the terminal of the worker was closed

TERM, INT and TTIN work while a handler blocks the event loop.
jobs quiet, resume, stop and dump do the same from any machine. With
--processes, the parent passes signals on, and HUP replaces the workers one at a
time.

Long commands (push --bulk, errors, find, list, clear, migrate, bench, and
retry, kill, cancel, delete and move with --all) stop on INT and TERM between
two batches, print how far they got, and exit with 130. find and list print the
jobs found until then. A second signal ends them at once.`,

  configuration: `
Configuration

-C FILE, else jobs.json, jobs.jsonc, jobs.yml or jobs.yaml in the working
directory, else the same names in /etc/jobs, else none. One in the working
directory must belong to you or to root, and others can't change it.
Precedence:

  1. options            jobs run -c 20
  2. environment        JOBS_CONCURRENCY=20 (jobs help environment)
  3. the file's section for the environment that -e or JOBS_ENV names
  4. the rest of the file
  5. defaults           jobs help settings

  {
    "store": "redis://localhost:6379",
    "queues": ["critical,3", "default,1"],
    "handlers": ["./handlers"],
    "environments": { "production": { "log": { "level": "warn" } } }
  }

Durations are 90 (seconds), 250ms, 30s, 5m, 2h or 1d. An unknown key is an
error, an unknown variable JOBS_… a warning. jobs doctor --settings prints the
effective settings and their origins.`,

  "exit-codes": `
Exit codes

Of a command:

  0     success
  1     failure: a job, queue, worker or cron entry wasn't found, the store is
        unreachable, an answer was no
  2     usage error: a wrong option, argument or configuration
  130   interrupted by Ctrl-C; the last line states how far it got

jobs run exits with 1 also if it couldn't store every outcome before it stopped
(those jobs run again), and with 14 if it hung for 2 seconds after it had
stopped. With --burst it exits with 3 if jobs are left in paused queues.
jobs push --wait exits with 0 only if the job succeeded.

With --json, a failure is also {"error":{"code":…,"message":…}} on stdout.

Of a program that runs jobs ("exec" in the configuration):

  0     success; what it printed is the result
  75    failure; retried
  100   discard the job
  101   dead
  other failure; retried`,
};
