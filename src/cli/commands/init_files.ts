/**
 * The files that `jobs init` writes.
 *
 * @module
 */
import { VERSION } from "../../version.ts";
import unit from "../../../packaging/systemd/jobs.service" with { type: "text" };

/** `jobs.json`. */
export const CONFIGURATION = `{
  "store": "sqlite:jobs.db",
  "handlers": ["./handlers.mjs"],
  "web": { "listen": "127.0.0.1:7433" },
  "cron": [
    { "name": "hourly", "every": "1h", "class": "Greet", "args": ["team"] }
  ]
}
`;

/** `.gitignore`. */
export const IGNORED = "jobs.db*\n";

/** `handlers.mjs`. */
export const HANDLERS = `/** Each exported function performs the jobs of the class that has its name. */

/** Quick: \`env jobs push Greet ada --wait\` prints what it returns. */
export async function Greet(ctx, name) {
  ctx.log.info("Greeting", { person: name });
  return { greeted: name };
}

/** Calls a service: \`env jobs push Check https://example.com\`. If that fails, the job is retried 5 times, with growing pauses. */
export async function Check(ctx, url) {
  const response = await fetch(url, { signal: ctx.signal });
  if (!response.ok) throw new Error(\`\${url} answered \${response.status}\`);
  return { status: response.status };
}
Check.options = { queue: "checks", retry: 5, timeout: "30s" };
`;

/** `handlers.test.mjs`. */
export const TEST = `/** Run it with \`node --test\`, or \`deno test -A\`. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Check, Greet } from "./handlers.mjs";

/** What the handlers use of a job's context. */
const context = () => ({ attempt: 1, log: console, progress() {}, signal: new AbortController().signal });

test("greets by name", async () => {
  assert.deepEqual(await Greet(context(), "ada"), { greeted: "ada" });
});

test("fails while a service does, so that the job is retried", async () => {
  const answers = [503, 204];
  const server = createServer((_request, response) => response.writeHead(answers.shift()).end());
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = \`http://127.0.0.1:\${server.address().port}/\`;
  try {
    await assert.rejects(Check(context(), url), /answered 503/);
    assert.deepEqual(await Check(context(), url), { status: 204 });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
`;

/** `compose.yaml`. */
export const COMPOSE = `# docker compose up
# docker compose exec worker jobs push Greet ada --wait   # in a second terminal: the store is in the container
#
# The image comes from a clone of jobs: make image, then docker load --input dist/jobs.tar
services:
  worker:
    image: jobs:${VERSION}
    command: run
    # The dashboard listens on 127.0.0.1 until it has users: here, on that of this machine.
    network_mode: host
    volumes:
      - .:/app:ro
      # The store. The image's JOBS_STORE takes the place of "store" in jobs.json.
      - store:/var/lib/jobs
    read_only: true
    restart: unless-stopped
    # Running jobs get 25 s (shutdownTimeout).
    stop_grace_period: 60s
volumes:
  store:
`;

/** The settings of the packages' unit that a project has otherwise. */
const DROPPED = /^(Group|StateDirectory|StateDirectoryMode|LogsDirectory|Documentation)=.*\n/gm;

/**
 * Returns the unit of the packages, for a folder of a user.
 *
 * @param name the name of its file
 */
export function unitOf(
  name: string,
  { program, folder, user }: { readonly program: string; readonly folder: string; readonly user: string },
): string {
  const text = unit.replace(/^[^]*?(?=^\[Unit\])/m, "").replace(DROPPED, "");
  const values: Readonly<Record<string, string>> = {
    Description: `Background jobs of ${folder.replaceAll("%", "%%")}`,
    ExecStart: `${word(program)} run`,
    WorkingDirectory: folder.replaceAll("%", "%%"),
    EnvironmentFile: `-${folder.replaceAll("%", "%%")}/.env`,
    User: user,
    ProtectHome: `read-only\nReadWritePaths=${word(folder)}`,
    // With a private /tmp the unit would see neither.
    ...([program, folder].some((path) => /^\/(var\/)?tmp(\/|$)/.test(path)) && { PrivateTmp: "no" }),
  };
  const changed = text.replace(/^(\w+)=.*$/gm, (line, name) => name in values ? `${name}=${values[name]}` : line);
  return `# A worker of this folder as a service:
#
#     sudo cp ${name} /etc/systemd/system/
#     sudo systemctl daemon-reload
#     sudo systemctl enable --now ${name}
#     sudo journalctl -u ${name} -o cat
${changed}`;
}

/** Returns a path as systemd reads it in a list of words. */
function word(path: string): string {
  const text = path.replaceAll("%", "%%").replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return /[\s'"\\]/.test(path) ? `"${text}"` : text;
}
