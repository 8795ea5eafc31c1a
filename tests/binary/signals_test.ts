/** Every signal of the table, sent to the executable; on SQLite. */
import { useExecutable } from "../support/command.ts";

await useExecutable();
await import("../server/signals_test.ts");
