import { assertEquals } from "@std/assert";
import { endedProcesses, processKey } from "./processes.ts";
import { until } from "../tests/support/eventually.ts";

/** Returns the key of another process. */
async function keyOf(pid: number): Promise<string> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  return processKey()!.replace(/\d+$/, start!);
}

Deno.test("knows when a process of this machine has ended or is stopped, and nothing about one of another", async () => {
  const child = new Deno.Command("sleep", { args: ["600"] }).spawn();
  const { pid } = child;
  const key = await keyOf(pid);
  const state = (processKey: string | undefined) => endedProcesses([{ id: "w", pid, processKey }]).get("w");
  try {
    assertEquals(state(key), undefined, "it runs");
    assertEquals(state(key.replace(/\d+$/, "7")), "ended", "another process has its PID now");
    assertEquals([undefined, "elsewhere:1:2", ""].map(state), [undefined, undefined, undefined]);
    child.kill("SIGSTOP");
    await until(() => state(key) === "stopped", "it is stopped");
    child.kill("SIGCONT");
    await until(() => state(key) === undefined, "it runs again");
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
  assertEquals(state(key), "ended");
  assertEquals(state("elsewhere:1:2"), undefined);
  assertEquals(endedProcesses([{ id: "self", pid: Deno.pid, processKey: processKey() }]).size, 0);
});

Deno.test("a process whose parent hasn't read its exit code has ended", async () => {
  const parent = new Deno.Command("sh", {
    args: ["-c", "sleep 600 & echo $!; exec sleep 600"],
    stdout: "piped",
  }).spawn();
  const reader = parent.stdout.getReader();
  const pid = Number(new TextDecoder().decode((await reader.read()).value));
  const processKey = await keyOf(pid);
  try {
    Deno.kill(pid, "SIGKILL");
    await until(() => endedProcesses([{ id: "w", pid, processKey }]).get("w") === "ended", "it has ended");
  } finally {
    parent.kill("SIGKILL");
    await reader.cancel();
    await parent.status;
  }
});
