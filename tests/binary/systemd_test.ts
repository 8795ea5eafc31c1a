/** What systemd hears from the executable. */
import { useExecutable } from "../support/command.ts";

await useExecutable();
await import("../server/systemd_test.ts");
