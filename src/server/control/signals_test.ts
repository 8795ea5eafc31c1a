import { assertEquals } from "@std/assert";
import { until } from "../../../tests/support/eventually.ts";
import { onRequests, SIGNALS } from "./signals.ts";

function hasTerminal(): boolean {
  try {
    Deno.openSync("/dev/tty").close();
    return true;
  } catch {
    return false;
  }
}

Deno.test("HUP is a stop once the terminal of the start is closed, for each listener to the table; otherwise a reload", async () => {
  const asked: string[] = [];
  const listen = (hadTerminal: boolean) => onRequests(({ verb }) => asked.push(verb), hadTerminal);
  using _closed = listen(true);
  using _without = listen(false);
  Deno.kill(Deno.pid, "SIGHUP");
  await until(() => asked.length === 2, "both have heard it");
  assertEquals(asked.sort(), [SIGNALS.SIGHUP!, hasTerminal() ? "reload" : "stop"]);
});
