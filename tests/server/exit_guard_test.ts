/** A process whose worker has stopped ends, even if other code still runs in it. */
import { assertEquals } from "@std/assert";
import { KILLED_CODE } from "../../src/server/host/exit_guard.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

const program = new URL("../support/exit_guard_child.ts", import.meta.url).pathname;

for (
  const [behaviour, mode, code] of [
    ["that waits forever exits with the code of its worker", "WAITING", 1],
    ["whose event loop doesn't turn is ended by the kernel", "SPINNING", KILLED_CODE],
    ["whose exit hangs is ended by the kernel", "HANGING_EXIT", KILLED_CODE],
  ] as const
) {
  Deno.test(`a stopped process ${behaviour}`, async () => {
    const output = await outputOf(denoCommand("run", "-A", program, mode));
    assertEquals(output.code, code, output.stderr);
  });
}
