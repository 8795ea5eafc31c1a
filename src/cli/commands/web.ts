/** `jobs web [[HOST:]PORT]`. @module */
import { systemClock } from "../../clock.ts";
import { logger, openLog } from "../../log/log.ts";
import { Inbox, listenToSignals } from "../../server/control/signals.ts";
import { StartupSteps } from "../../server/startup_steps.ts";
import { newToken, passwordSecret } from "../../web/auth/accounts.ts";
import { DEFAULT_ADDRESS, parseListenAddress } from "../../web/http/serve.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { loadSettings } from "../shared/store.ts";
import { openWeb } from "./web_open.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs web [[HOST:]PORT] [OPTION …]
       jobs web --new-user NAME | --new-token NAME [--role reader|operator]

Shows the dashboard, the JSON API under /api/v1, /metrics, /healthz and /readyz, until told to stop (127.0.0.1:7433).
On any other address than this machine's own it wants users, or a proxy that names them.

      --read-only          nobody may act
      --prefix PATH        what stands before every path behind a reverse proxy: /jobs
      --host NAME          a name under which it may be asked, besides localhost and addresses; repeat for more
      --new-user NAME      read a password from standard input, print a line for "web.users"
      --new-token NAME     make a token, print it and a line for "web.users"
      --role ROLE          reader may look, operator (default) may act

Every action is logged under the name audit: who, what, how many.`;

/** Shows the dashboard. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [address, ...more] } = parseCommand("web", argv, {
    ...COMMON_FLAGS,
    "read-only": { takes: "switch" },
    prefix: { takes: "text" },
    host: { takes: "list" },
    "new-user": { takes: "text" },
    "new-token": { takes: "text" },
    role: { takes: "text" },
  });
  if (more.length > 0) throw new UsageError(`Superfluous: "${more[0]}"; wanted: jobs web [[HOST:]PORT]`);
  const name = flags["new-user"] ?? flags["new-token"];
  if (name === undefined && flags.role !== undefined) {
    throw new UsageError('--role is for --new-user or --new-token: a login that is there has its role in "web.users"');
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
  if (settings.webUsers.length === 0 && settings.webProxyHeader === undefined) {
    printError("jobs: no login: everybody on this machine may do anything (jobs web --help)");
  }
  for (;;) {
    const { verb } = await inbox.next();
    if (verb === "reopen") log.reopen();
    if (verb === "stop") return 0;
  }
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
    throw new UsageError(`User "${name}" cannot be; wanted: up to 64 characters without spaces, colons and commas`);
  }
  if (role !== "reader" && role !== "operator") {
    throw new UsageError(`--role is "${role}"; wanted: reader or operator`);
  }
  if (token) {
    const { token, secret } = newToken();
    const line = `${name}:${role}:${secret}`;
    if (json) printJson({ token, user: line });
    else {
      printError('jobs: the token is shown this once; the second line goes into "web.users"');
      print(`${token}\n${line}`);
    }
    return 0;
  }
  if (Deno.stdin.isTerminal()) printError("Password, then Enter:");
  const password = (await new Response(Deno.stdin.readable.pipeThrough(firstLine())).text()).trimEnd();
  if (password.length < 8) throw new UsageError("The password is too short; wanted: 8 characters or more");
  const secret = await passwordSecret(password).catch((error: RangeError) => {
    throw new UsageError(error.message);
  });
  const line = `${name}:${role}:${secret}`;
  if (json) printJson({ user: line });
  else print(line);
  return 0;
}

/** Lets the first line pass, and no more. */
function firstLine(): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      const end = chunk.indexOf(10);
      controller.enqueue(end < 0 ? chunk : chunk.subarray(0, end));
      if (end >= 0) controller.terminate();
    },
  });
}
