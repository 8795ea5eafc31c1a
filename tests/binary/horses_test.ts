/** Horses of the executable: it starts itself. */
import { useExecutable } from "../support/command.ts";

await useExecutable();
await import("../server/horses_test.ts");
