import { assertEquals } from "@std/assert";
import { programPath } from "./shell_init.ts";

Deno.test("the program has the path of its folder, also with spaces", () => {
  assertEquals(programPath("file:///opt/my%20jobs/main.ts"), "/opt/my jobs/jobs");
});
