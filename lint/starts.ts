/**
 * Tests and scripts start Deno, and get packages, in one place each: after the set-up nothing may depend on a registry.
 *
 * @module
 */
import { projectPath } from "./source.ts";

/** Files that may start Deno themselves, with the reason. */
const STARTERS: Readonly<Record<string, string>> = {
  "scripts/deno_command.ts": "the place",
  "scripts/bundle.ts": "runs in a copy of the sources, with the lock file in it",
  "scripts/compile.ts": "compiles a bundle, which imports nothing",
  "scripts/deno_test.ts": "tests how Deno is found",
  "tests/bench/startup.ts": "compiles a program of one line",
  "src/handlers/isolation/respawn_test.ts": "tests the flag of an isolated process",
  "scripts/testrun/run_task.ts": "starts what the plan names",
  "scripts/testrun/testrun_test.ts": "runs tests of a folder outside of the project, which import nothing",
};

/** Files that may get something from a registry. */
const SETUP = [
  "scripts/testrun/setup.ts",
  "scripts/testrun/tools.ts",
  "scripts/site/build.ts",
  "tests/bench/peers_programs.ts",
];

const STARTED =
  "start Deno with `denoCommand` of scripts/deno_command.ts, which names the configuration and the lock file, and takes " +
  "cached packages only (`offlineDeno` for a program outside of the project)";
const FETCHED = "a test has no network: add it to scripts/testrun/setup.ts, and require what it made";

/** The rule `jobs/deno-starts`. */
export const denoStarts: Deno.lint.Rule = {
  create(context) {
    const path = projectPath(context.filename);
    if (path === undefined || !/^(tests|scripts)\/|_test\.tsx?$/.test(path)) return {};
    return {
      MemberExpression(node) {
        if (path in STARTERS || context.sourceCode.getText(node) !== "Deno.execPath") return;
        context.report({ node, message: `No \`Deno.execPath()\` here: ${STARTED}` });
      },
      Literal(node) {
        if (!(path in STARTERS) && /^--no-(lock|config)$/.test(String(node.value))) {
          context.report({ node, message: `No \`${node.value}\` here: ${STARTED}` });
        }
      },
      NewExpression(node) {
        const [program] = node.arguments;
        if (SETUP.includes(path) || context.sourceCode.getText(node.callee) !== "Deno.Command") return;
        if (program?.type !== "Literal" || !/^(npm|npx|pip3?|gem|apt(-get)?|curl|wget)$/.test(String(program.value))) {
          return;
        }
        context.report({ node, message: `No \`${program.value}\` here: ${FETCHED}` });
      },
    };
  },
};
