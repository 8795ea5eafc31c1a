/** The files in `packaging/`, checked by the programs that read them. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parseYaml } from "../../src/config/yaml.ts";
import { defaultSettings } from "../../src/config/settings.ts";
import { Bench } from "../support/bench.ts";
import { runHere, useExecutable } from "../support/command.ts";
import { JobsProcess, temporaryFolder } from "../support/process.ts";
import { requireTool } from "../support/tools.ts";

const binary = await useExecutable();
const PACKAGING = new URL("../../packaging/", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, PACKAGING));

/** The longest time of a stop: running jobs, then handlers that clean up, then the store. */
const MAX_STOP_S = defaultSettings().shutdownTimeoutMs / 1000 + 3 + 5;

Deno.test("the systemd unit is valid, waits longer than a worker, and reloads by HUP", async () => {
  requireTool("systemd-analyze");
  const unit = await read("systemd/jobs.service");
  const value = (name: string) => unit.match(new RegExp(`^${name}=(.*)$`, "m"))?.[1];
  assert(Number(value("TimeoutStopSec")) > MAX_STOP_S);
  assertEquals([value("Type"), value("KillSignal"), value("KillMode")], ["notify", "SIGTERM", "mixed"]);
  assertEquals(value("ExecReload"), "/bin/kill -HUP $MAINPID");
  const rights = (text: string) =>
    text.split("\n").filter((line) => /^(SystemCall|Limit|Protect|Restrict|Priv)/.test(line));
  assertEquals(rights(await read("systemd/jobs@.service")), rights(unit));
  assert(rights(unit).includes("LimitCORE=0") && rights(unit).includes("SystemCallFilter=~@privileged @resources"));
  await using folder = await temporaryFolder();
  const file = `${folder.path}/jobs.service`;
  await Deno.writeTextFile(file, unit.replace("/usr/bin/jobs", binary).replace(/^Documentation=man:.*\n/m, ""));
  const verified = await new Deno.Command("systemd-analyze", { args: ["verify", file] }).output();
  assertEquals([verified.code, new TextDecoder().decode(verified.stderr)], [0, ""]);
});

Deno.test("logrotate moves the file and makes the worker open a new one", async () => {
  requireTool("logrotate");
  await using bench = await Bench.open();
  const log = `${bench.folder}/jobs.log`;
  await using server = new JobsProcess({ store: bench.url, args: [bench.handlers, "--log-file", log] });
  const logged = async (path: string) => await Deno.readTextFile(path).catch(() => "");
  await bench.until(async () => (await logged(log)).includes('"Ready"'));
  const snippet = await read("logrotate/jobs");
  const command = "systemctl kill --signal=USR2 --kill-whom=main jobs.service";
  assert(snippet.includes(command));
  assertMatch(snippet, /^\tsu jobs jobs$/m);
  const config = `${bench.folder}/logrotate.conf`;
  await Deno.writeTextFile(
    config,
    snippet.replace("/var/log/jobs/*.log", log).replace("su jobs jobs", "su root root").replace(
      command,
      `kill -USR2 ${server.pid}`,
    ),
  );
  await Deno.chmod(bench.folder, 0o755);
  await runHere("logrotate", ["--force", "--state", `${bench.folder}/state`, config]);
  await bench.until(() => Deno.stat(log).then(() => true, () => false), "the signal has opened the new file");
  const jid = await bench.push("Noop", []);
  await bench.until(async () => (await logged(log)).includes(jid), "the new file has the job");
  assertMatch(await logged(`${log}.1`), /"Ready"/);
});

Deno.test("the Kubernetes example runs the image with its user, root and probes", async () => {
  // deno-lint-ignore no-explicit-any -- a document of someone else's form
  const { spec } = (parseYaml(await read("kubernetes/jobs.yaml")) as any).spec.template;
  const [container] = spec.containers;
  assert(spec.terminationGracePeriodSeconds > MAX_STOP_S);
  assertEquals([spec.securityContext.runAsUser, container.securityContext.readOnlyRootFilesystem], [65532, true]);
  assertEquals([container.args[0], spec.automountServiceAccountToken], ["run", false]);
  assertEquals(container.readinessProbe.exec.command, ["/usr/bin/jobs", "doctor", "--ready"]);
  assertEquals(container.lifecycle.preStop.exec.command, ["/usr/bin/jobs", "quiet", "--here"]);
});
