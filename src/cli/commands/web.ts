/** `jobs web [[HOST:]PORT]`. @module */
import { decodeLine } from "../../job/utf8.ts";
import { systemClock } from "../../clock.ts";
import { logger, openLog } from "../../log/log.ts";
import { Inbox, listenToSignals } from "../../server/control/signals.ts";
import { StartupSteps } from "../../server/startup_steps.ts";
import { Accounts, newToken, passwordSecret } from "../../web/auth/accounts.ts";
import { DEFAULT_ADDRESS, parseListenAddress } from "../../web/http/serve.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { askHidden, print, printError, printJson } from "../terminal/output.ts";
import { loadSettings } from "../shared/store.ts";
import { type OpenWeb, openWeb, requiresLogin } from "./web_open.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs web [[HOST:]PORT] [OPTION …]
       jobs web --new-user NAME | --new-token NAME [--role ROLE]

Serves the dashboard, the HTTP API under /api/v1, /metrics, /healthz and
/readyz, by default on 127.0.0.1:7433. Any address other than the machine's own
requires users, or a proxy that names them. Every action is logged under the
name audit.

      --read-only        disable all actions
      --prefix PATH      path under which a reverse proxy serves it: /jobs
      --host NAME        allowed Host header; repeatable
      --new-user NAME    read a password from stdin and print a line for
                         "web.users"
      --new-token NAME   generate a token, and print it and a line for
                         "web.users"
      --role ROLE        reader (read only), operator (the default), push:
                         only push jobs, and wait for their results; signal:
                         only send signals, such as approvals; or work: perform
                         jobs in Node, Python, … and push. Limits:
                         work(class=Report,queue=reports),
                         operator(queue=mail|low,delete=no),
                         push(class=Mail|Report,queue=low), signal(key=order:*)

Examples
  jobs web
  jobs web 0.0.0.0:7433 --host jobs.example.com
  jobs web --new-user ann --role reader`;

/** Serves the dashboard. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [address] } = parseCommand("web", argv, {
    ...COMMON_FLAGS,
    "read-only": { takes: "switch" },
    prefix: { takes: "text" },
    host: { takes: "list" },
    "new-user": { takes: "text" },
    "new-token": { takes: "text" },
    role: { takes: "text" },
  }, "[[HOST:]PORT]");
  const name = flags["new-user"] ?? flags["new-token"];
  if (name === undefined && flags.role !== undefined) {
    throw new UsageError('--role needs --new-user or --new-token; the role of an existing user is in "web.users"');
  }
  if (name !== undefined) {
    return await printUser(name, flags.role ?? "operator", flags["new-token"] !== undefined, flags.json);
  }
  const config = await loadSettings(flags, {
    webListen: address,
    webReadOnly: flags["read-only"] ? "true" : undefined,
    webPrefix: flags.prefix,
    webHosts: flags.host.length > 0 ? flags.host : undefined,
  });
  const { settings } = config;
  using log = openLog({ level: settings.logLevel, format: settings.logFormat, file: settings.logFile });
  const listen = where(settings.webListen);
  const inbox = new Inbox();
  using _signals = listenToSignals(inbox);
  const starting = new StartupSteps({ clock: systemClock, log: logger("web"), inbox });
  await using web = await starting.step("store", openWeb(config, listen));
  print(web.url);
  if (!requiresLogin(settings)) {
    printError("jobs: no login required: every user of this machine has full access (jobs web --help)");
  }
  for (;;) {
    const { verb } = await inbox.next();
    if (verb === "reopen") log.reopen();
    if (verb === "dump") { for (const line of dumpOf(web)) logger("control").warn(line); }
    if (verb === "stop") return 0;
  }
}

function dumpOf(web: OpenWeb): readonly string[] {
  const lines = web.dump();
  return lines.length > 0 ? lines : ["no workers of other programs"];
}

function where(text: string | undefined) {
  try {
    return text === undefined ? DEFAULT_ADDRESS : parseListenAddress(text);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function printUser(name: string, role: string, token: boolean, json: boolean): Promise<number> {
  if (!/^[^:,\s]{1,64}$/.test(name)) {
    throw new UsageError(`Invalid user "${name}": expected up to 64 characters without spaces, colons and commas`);
  }
  try {
    // As the dashboard reads the line that this prints.
    new Accounts([`${name}:${role}`]);
  } catch (error) {
    const [, scope] = /the scope ".*"; expected (.*)$/.exec((error as Error).message) ?? [];
    const expected = scope === undefined
      ? "reader, operator, push, signal or work, or one with limits, such as push(class=Mail,queue=low)"
      : `limits such as ${scope}`;
    throw new UsageError(`Invalid --role "${role}": expected ${expected}`);
  }
  if (token) {
    const { token, secret } = newToken();
    const line = `${name}:${role}:${secret}`;
    if (json) printJson({ token, user: line });
    else {
      printError('jobs: the token is shown only once; add the second line to "web.users"');
      print(`${token}\n${line}`);
    }
    return 0;
  }
  const password = (Deno.stdin.isTerminal() ? typedPassword() : await readPassword()).trimEnd();
  if (password.length < 8) throw new UsageError("Password too short: expected 8 characters or more");
  const secret = await passwordSecret(password).catch((error: RangeError) => {
    throw new UsageError(error.message);
  });
  const line = `${name}:${role}:${secret}`;
  if (json) printJson({ user: line });
  else print(line);
  return 0;
}

/** Asks twice on the terminal: what is typed isn't shown. */
function typedPassword(): string {
  const [password, again] = askHidden(["Password: ", "Password again: "]).map(decoded);
  if (password !== again) throw new UsageError("The passwords differ: no user was made");
  return password!;
}

/** Reads a line from a pipe or a file. */
async function readPassword(): Promise<string> {
  return decoded(await new Response(Deno.stdin.readable.pipeThrough(firstLine())).bytes());
}

function decoded(bytes: Uint8Array): string {
  const text = decodeLine(bytes);
  if (text === undefined) throw new UsageError("Invalid password: expected UTF-8 text");
  return text;
}

/** Passes the first line only. */
function firstLine(): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      const end = chunk.indexOf(10);
      controller.enqueue(end < 0 ? chunk : chunk.subarray(0, end));
      if (end >= 0) controller.terminate();
    },
  });
}
