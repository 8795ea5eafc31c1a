/**
 * Checks metrics with `promtool` of Prometheus.
 *
 * @module
 */
import { assert } from "@std/assert";
import { requireTool } from "./tools.ts";

/** Runs `promtool`, and returns its output. The test fails if `promtool` reports a problem. */
export async function promtool(args: readonly string[], input = ""): Promise<string> {
  requireTool("promtool");
  const child = new Deno.Command("promtool", { args: [...args], stdin: "piped", stdout: "piped", stderr: "piped" })
    .spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert(success, said);
  return said;
}
