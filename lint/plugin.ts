/**
 * The rules of `docs/architecture.md` that a machine can check: `deno lint` runs them. An exception belongs in the
 * tables of these files, with its reason, rather than in an ignore comment.
 *
 * @module
 */
import { importDirection } from "./directions.ts";
import { noSleepingTests } from "./no_sleeping_tests.ts";
import { placeRules } from "./places.ts";
import { denoStarts } from "./starts.ts";
import { words } from "./words.ts";

const plugin: Deno.lint.Plugin = {
  name: "jobs",
  rules: {
    "import-direction": importDirection,
    "no-sleeping-tests": noSleepingTests,
    "deno-starts": denoStarts,
    words,
    ...placeRules,
  },
};
export default plugin;
