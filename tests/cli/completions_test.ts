/** The completions, in the shells they are for. */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { jobsCommand, runHere } from "../support/command.ts";
import { jobs } from "../support/process.ts";
import { requireTool } from "../support/tools.ts";

/** For each shell: completes the words of ARGV after the script, and prints what it offers, one a line. */
const COMPLETE = {
  bash: `. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _jobs; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: `compdef() {}; _files() {}; compadd() { shift; print -l -- $@ }; _describe() { print -l -- \${(P)2%%:*} }
        . "$0"; words=("$@"); CURRENT=$#; _jobs`,
  fish: `source $argv[1]; complete -C (string join -- ' ' $argv[2..]) | string split -f1 \\t; true`,
};

for (const [shell, script] of Object.entries(COMPLETE)) {
  Deno.test(`${shell} completes commands, options, and the queues that there are`, async () => {
    if (shell !== "bash") requireTool(shell);
    await using bench = await Bench.open();
    for (const queue of ["mail", "low"]) await bench.push("Noop", [], { queue });
    const file = `${bench.folder}/completions`;
    const printed = await jobs(["completions", shell]);
    assertEquals([printed.code, printed.stderr], [0, ""]);
    await Deno.writeTextFile(file, printed.stdout);
    const command = jobsCommand().map((word) => `'${word}'`).join(" ");
    await Deno.writeTextFile(`${bench.folder}/jobs`, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });

    const env = { JOBS_STORE: bench.url, PATH: `${bench.folder}:${Deno.env.get("PATH")}`, HOME: bench.folder };
    const complete = async (...words: string[]) => {
      const offered = await runHere(shell, ["-c", script, file, "jobs", ...words], env);
      const last = words.at(-1)!; // zsh itself picks what fits
      return offered.split("\n").filter((word) => word.startsWith(last)).sort();
    };
    assertEquals(await complete("pu"), ["push"]);
    assertEquals((await complete("d")).includes("doctor"), true);
    assertEquals(await complete("__"), []);
    assertEquals(await complete("list", "sch"), ["scheduled"]);
    assertEquals(await complete("push", "--uni"), ["--unique-for"]);
    assertEquals(await complete("run", "--uni"), []);
    assertEquals(await complete("push", "--queue", ""), ["low", "mail"]);
    assertEquals(await complete("list", "queued", "-q", "m"), ["mail"]);
    assertEquals(await complete("clear", ""), ["low", "mail"]);
    assertEquals((await complete("pause", "l")).includes("low"), true);
    assertEquals(await complete("help", "exit"), ["exit-codes"]);
  });
}

Deno.test("another shell is refused in one line", async () => {
  for (const args of [[], ["tcsh"], ["bash", "zsh"]]) {
    const { code, stdout, stderr } = await jobs(["completions", ...args]);
    assertEquals([code, stdout], [2, ""]);
    assertMatch(stderr, /^jobs: .*; wanted: jobs completions bash\|zsh\|fish\n$/);
  }
});
