/** A process whose worker has stopped ends, even if other code still runs in it. */
import { assertEquals } from "@std/assert";
import { KILLED_CODE } from "../../src/server/host/exit_guard.ts";

const program = new URL("../support/exit_guard_child.ts", import.meta.url).pathname;
const config = new URL("../../deno.json", import.meta.url).pathname;

for (
  const [behaviour, mode, code] of [
    ["that waits forever exits with the code of its worker", "WAITING", 1],
    ["whose event loop doesn't turn is ended by the kernel", "SPINNING", KILLED_CODE],
    ["whose exit hangs is ended by the kernel", "HANGING_EXIT", KILLED_CODE],
  ] as const
) {
  Deno.test(`a stopped process ${behaviour}`, async () => {
    const command = new Deno.Command(Deno.execPath(), { args: ["run", "-A", "--config", config, program, mode] });
    const output = await command.output();
    assertEquals(output.code, code, new TextDecoder().decode(output.stderr));
  });
}
