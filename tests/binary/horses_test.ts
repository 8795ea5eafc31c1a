/** Horses of the executable, which starts itself. What their handlers may do is tested from the sources. */
import { useExecutable } from "../support/command.ts";
import { importTests } from "../support/selected.ts";

await useExecutable();
await importTests([
  "a horse that crashes, exits or eats too much fails its own job only, and says how",
  "what a handler says, pushes and throws in a horse comes back",
  "no horse outlives its parent, though its handler spins and the parent was killed",
  "at a stop, isolated jobs go back to their queue and their horses end",
  "isolated jobs wait while no file descriptor is free for a process, and run once there are some",
], () => import("../server/horses_test.ts"));
