/** A process whose worker has stopped ends, whatever still runs in it. */
import { assertEquals } from "@std/assert";
import { KILLED_CODE } from "../../src/server/host/exit_guard.ts";

const program = new URL("../support/exit_guard_child.ts", import.meta.url).pathname;
const config = new URL("../../deno.json", import.meta.url).pathname;

for (
  const [what, how, code] of [
    ["that waits for something forever exits with its worker's code", "WAITING", 1],
    ["whose event loop doesn't turn is ended by the kernel", "SPINNING", KILLED_CODE],
    ["whose exit hangs is ended by the kernel", "HANGING_EXIT", KILLED_CODE],
  ] as const
) {
  Deno.test(`a stopped process ${what}`, async () => {
    const command = new Deno.Command(Deno.execPath(), { args: ["run", "-A", "--config", config, program, how] });
    const output = await command.output();
    assertEquals(output.code, code, new TextDecoder().decode(output.stderr));
  });
}
