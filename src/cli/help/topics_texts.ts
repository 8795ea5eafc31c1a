/**
 * The short texts of `jobs help TOPIC`.
 *
 * @module
 */

/** By the topic's name. */
export const TEXTS: Readonly<Record<string, string>> = {
  queues: `
Queues

A queue is a name; pushing to it makes it. Within one, jobs are taken first in, first out.

  jobs push HardJob -q critical            to a queue; default: default
  jobs run -q critical -q default          critical first, always
  jobs run -q critical,2 -q default,1      by weight: two draws in three begin with critical
  jobs run                                 default, then those that handlers name

A process takes from the queues it was told, and from no other: jobs doctor names those that nobody takes.

  jobs list queues                         size, age of the oldest job, pauses
  jobs list queue critical                 the jobs in it, in order
  jobs pause critical --for 10m            nothing is taken from it; jobs resume critical ends that early
  jobs pause                               nothing is taken from any
  jobs limit mail --running 2              so many at once, --starts 100/1m: so many in any minute; of all processes
  jobs clear critical                      deletes what waits in it; asks before, as --all does`,

  retries: `
Retries

A job that throws is tried again: after the first failure in about 15 seconds, then later and later (count⁴ + 15 s, and
some jitter), 25 times over about three weeks. Then it goes to dead, where 10,000 jobs are kept for 180 days.

  jobs push HardJob --retry 3              so often; --retry false: never
  HardJob.options = { retry: 3 }           for a class; retryIn(count, error) says when, or "kill", or "discard"
  maxRetries                               the setting for those who say nothing

  jobs list retry, jobs list dead          what failed, and with what
  jobs show JID                            every try with its error
  jobs retry JID | --all retry|dead        now; the try that follows is not counted
  jobs kill JID                            to dead, jobs delete JID: away

A handler that throws a Discard drops its job, a Kill sends it to dead, a Snooze runs it later without a failure. A job
whose process dies has not failed: it runs again. It goes to dead when it has killed its process three times (maxRescues).`,

  handlers: `
Handlers

A handler is an exported function of a JavaScript or TypeScript module; its name is the class.

  export async function ImportFile(ctx, path, rows) {
    ctx.log.info("Begins");
    for (let row = 0; row < rows; row++) {
      ctx.signal.throwIfAborted();         // the server stops, or the job is cancelled
      ctx.progress(row, "rows");           // shown by jobs show, jobs dump and the dashboard
    }
    return { rows };                       // kept for a while: jobs show, jobs push --wait
  }
  ImportFile.options = { queue: "low", retry: 5, timeout: "10m", log_level: "warn" };

  jobs run handlers.js                     or folders of modules, or "handlers" in the configuration
  jobs doctor handlers.js                  whether they load, and which classes they perform

With isolate: true a class runs in processes of its own, which can be killed. A job may also be a program in any language:
"exec" in the configuration; the payload is its standard input, its exit code says how it went (jobs help exit-codes).`,

  cron: `
Cron

"cron" in the configuration, or jobs cron add, says what is enqueued when. Each occurrence is enqueued once, however many
processes there are and whichever die.

  { "name": "nightly", "rule": "30 3 * * 1-5", "timezone": "Europe/London", "class": "Report", "overlap": "skip" }

  rule        ┌ minute (0-59)
              │ ┌ hour (0-23)
              │ │ ┌ day of month (1-31, L the last)
              │ │ │ ┌ month (1-12, jan-dec)
              │ │ │ │ ┌ day of week (0-7, sun-sat; 0 and 7 are Sunday; 5L the last Friday, 5#2 the second)
              * * * * *          six fields begin with seconds; lists 1,2, ranges 1-5, steps */5
              @hourly @daily @weekly @monthly @yearly
  every       an interval instead of a rule: "10m"
  overlap     allow, skip, queue-one or replace, where the job before is not done
  catchUp     none, last or all, of those that were missed

  jobs cron list | next NAME | history NAME | run NAME | pause NAME | resume NAME | add … | remove NAME | check`,

  stores: `
Stores

A store is an address: --store URL, else JOBS_STORE, else REDIS_URL, else "store" in the configuration, else
sqlite:~/.local/state/jobs/jobs.db (under XDG_STATE_HOME where that is set).

  sqlite:PATH                              a file, made where there is none; for all processes of one machine
  sqlite:PATH?durability=normal            faster; a power cut may take the last moments' pushes
  redis://[USER:PASSWORD@]HOST[:PORT][/DB] Redis 7.0 or later, maxmemory-policy noeviction; any number of machines
  rediss://…                               over TLS, ?ca=PATH for the authority's certificate
  redis+unix:/PATH?db=N                    over a socket
  redis+sentinel://HOST,HOST/MASTER[/DB]   by Sentinel

On SQLite an acknowledged push is on the disk. On Redis that is set there: with appendfsync always it is, with everysec a
power cut takes up to two seconds. On Redis the keys and payloads are Sidekiq's: Ruby pushes and performs beside jobs.

  jobs doctor                              how the store is, and what to do about it
  jobs move --from URL --to URL            takes everything along
  jobs bench                               what it can do on this machine`,

  signals: `
Signals

What jobs run does:

  TERM, INT     stops: takes nothing more, waits for running jobs (timeout, 25 s), gives the others back, exits with 0.
                A second time: at once; jobs still go back
  TSTP, USR1    takes nothing more, finishes what runs
  CONT          takes jobs again
  TTIN          prints what every task is doing
  USR2          opens the log file anew, after logrotate moved it
  HUP           reads the configuration again: what docs/reference/configuration.md marks with ↻

jobs quiet, stop and dump ask the same through the store, from any machine. With --processes the parent passes signals on,
and HUP replaces the processes one at a time.

Of the other commands, those that take long (push --bulk, clear, move, retry|kill|delete --all, bench) stop on INT and TERM
between two steps, say how far they came, and exit with 130. A second time ends them at once.`,

  configuration: `
Configuration

-C FILE, else jobs.json, jobs.jsonc, jobs.yml or jobs.yaml in the working directory, else none: the defaults serve. Each of
these comes before the next:

  1. options            jobs run -c 20
  2. the environment    JOBS_CONCURRENCY=20 (jobs help environment)
  3. the file's section for the environment that -e or JOBS_ENV names
  4. the rest of the file
  5. defaults           jobs help settings

  {
    "store": "redis://localhost:6379",
    "queues": ["critical,3", "default,1"],
    "handlers": ["./handlers"],
    "environments": { "production": { "log": { "level": "warn" } } }
  }

Durations are 90 (seconds), 250ms, 30s, 5m, 2h, 1d. A key that nobody knows is an error; a variable JOBS_… that nobody knows
a warning. jobs doctor prints what is in force and where each value came from.`,

  "exit-codes": `
Exit codes

Of every command:

  0    done
  1    failed: the store cannot be reached, a job was not found, a line was refused, …; stderr says what
  2    wrong usage, or a wrong configuration: one line says what is wanted
  130  stopped by Ctrl-C (or TERM) before its end; it says how far it came

jobs run exits with 0 after a complete stop, with 1 if it could not store every
outcome before it stopped (those jobs run again), and with 14 if it hung for 10
seconds after it had stopped. jobs push --wait exits with 0 only if the job
succeeded.

Of a program that performs a job ("exec" in the configuration):

  0    done; what it printed is the result
  75   again later, as a failure
  100  dropped
  101  to dead
  else failed, and tried again`,
};
