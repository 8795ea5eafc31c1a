/** Horses of the executable, which starts itself. The tests of the sources cover more handlers. */
import { useExecutable } from "../support/command.ts";
import { importTests } from "../support/selected.ts";

await useExecutable();
await importTests([
  "a horse that crashes, exits or uses too much memory fails only its job, with the kind of end",
  "the log lines, pushes and errors of a handler in a horse reach the worker",
  "no horse outlives its parent, even if its handler spins and the parent is killed",
  "a stop returns isolated jobs to their queue and ends their horses",
  "isolated jobs wait while no file descriptor is free for a process, and run when some are",
], () => import("../server/horses_test.ts"));
