/** The clients send a signal once: it would arrive twice. */
import { assertEquals } from "@std/assert";
import { denoCommand } from "../../scripts/deno_command.ts";
import { requireTool } from "../support/tools.ts";

for (
  const [runtime, command, file] of [
    ["Deno", denoCommand("run", "-A"), "signal_once.mjs"],
    ["Node", ["node"], "signal_once.mjs"],
    ["Python", ["python3"], "signal_once.py"],
    ["Ruby", ["ruby"], "signal_once.rb"],
  ] as const
) {
  Deno.test(`the client in ${runtime} sends a signal once if the connection breaks before the reply`, async () => {
    const [program, ...args] = command;
    if (runtime !== "Deno") requireTool(program);
    const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    let requests = 0;
    const serving = (async () => {
      for await (using connection of listener) {
        await connection.read(new Uint8Array(4_096));
        requests++;
      }
    })();
    const url = `http://127.0.0.1:${listener.addr.port}`;
    const { stdout } = await new Deno.Command(program, {
      args: [...args, new URL(file, import.meta.url).pathname, url],
      signal: AbortSignal.timeout(30_000),
    }).output();
    listener.close();
    await serving;
    assertEquals([new TextDecoder().decode(stdout).trim(), requests], ["unreachable", 1]);
  });
}
