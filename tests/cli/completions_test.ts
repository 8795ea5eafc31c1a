/** Completions and the shell function, in real shells. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { compileOnce, jobsCommand, runHere } from "../support/command.ts";
import { jobs, temporaryFolder } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { requireTool } from "../support/tools.ts";

/** For each shell: a script that completes the words in ARGV and prints the completions, one per line. */
const COMPLETE = {
  bash: `. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _jobs; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: `compdef() {}; _files() {}; compadd() { shift; print -rl -- $@ }; _describe() { print -l -- \${(P)2%%:*} }
        . "$0"; words=("$@"); CURRENT=$#; _jobs`,
  fish: `source $argv[1]; complete -C (string join -- ' ' $argv[2..]) | string split -f1 \\t; true`,
};

/** Writes a program `jobs` into a folder. Returns its path. */
async function writeProgram(folder: string): Promise<string> {
  const command = jobsCommand().map((word) => `'${word}'`).join(" ");
  await Deno.writeTextFile(`${folder}/jobs`, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  return `${folder}/jobs`;
}

for (const [shell, script] of Object.entries(COMPLETE)) {
  Deno.test(`${shell} completes commands, options, states and queues`, async () => {
    if (shell !== "bash") requireTool(shell);
    await using bench = await Bench.open();
    for (const queue of ["mail", "low"]) await bench.push("Noop", [], { queue });
    const file = `${bench.folder}/completions`;
    const printed = await jobs(["completions", shell]);
    assertEquals([printed.code, printed.stderr], [0, ""]);
    await Deno.writeTextFile(file, printed.stdout);
    await writeProgram(bench.folder);
    // The script limits the time of `jobs queues`. A busy machine may take longer.
    await Deno.writeTextFile(`${bench.folder}/timeout`, '#!/bin/sh\nshift\nexec "$@"\n', { mode: 0o755 });

    const env = { JOBS_STORE: bench.url, PATH: `${bench.folder}:${Deno.env.get("PATH")}`, HOME: bench.folder };
    const complete = async (...words: string[]) => {
      const offered = await runHere(shell, ["-c", script, file, "jobs", ...words], env);
      const last = words.at(-1)!; // zsh filters the completions itself
      return offered.split("\n").filter((word) => word.startsWith(last)).sort();
    };
    assertEquals(await complete("pu"), ["push"]);
    assertEquals((await complete("d")).includes("doctor"), true);
    assertEquals(await complete("__"), []);
    assertEquals(await complete("list", "sch"), ["scheduled"]);
    assertEquals(await complete("push", "--uni"), ["--unique-for", "--unique-key", "--unique-until"]);
    assertEquals(await complete("run", "--uni"), []);
    assertEquals(await complete("push", "--queue", ""), ["low", "mail"]);
    assertEquals(await complete("list", "queued", "-q", "m"), ["mail"]);
    assertEquals(await complete("clear", ""), ["low", "mail"]);
    assertEquals((await complete("pause", "l")).includes("low"), true);
    assertEquals(await complete("help", "exit"), ["exit-codes"]);
  });
}

Deno.test("zsh finds the completions in a file on its path, and defines the function", async () => {
  requireTool("zsh");
  await using folder = await temporaryFolder();
  await Deno.writeTextFile(`${folder.path}/_jobs`, (await jobs(["completions", "zsh"])).stdout);
  const script = `fpath=($0 $fpath); autoload -Uz compinit; compinit -D -u; print $_comps[jobs]
    compadd() { shift; print -rl -- $@ }; _describe() { print -l -- \${(P)2%%:*} }
    words=(jobs list sch); CURRENT=3; $_comps[jobs]; whence -w jobs`;
  const printed = (await runHere("zsh", ["-f", "-c", script, folder.path])).split("\n");
  assertEquals([printed[0], printed.includes("scheduled"), printed.at(-1)], ["_jobs", true, "jobs: function"]);
});

/** Names that a shell would run, split, expand or read as an option. */
const HOSTILE = [
  "$(touch${IFS}./pwned)",
  "`touch ./pwned`",
  "a;touch ./pwned;",
  "a'touch ./pwned'",
  'a"$(touch ./pwned)"',
  "a\\$(touch ./pwned)",
  "~",
  "*",
  "{a,b}",
  "a b",
  "größe",
  "!!",
  "#a",
  "=(touch ./pwned)",
];
const LEFT_OUT = ["--yes", "-x", "a\ntouch ./pwned", "a\x1b[2J", ""];

for (const shell of Object.keys(COMPLETE)) {
  Deno.test(`${shell} completes names of queues without evaluating them`, async () => {
    if (shell !== "bash") requireTool(shell);
    await using redis = await startRedis();
    await using bench = await Bench.open(redis.url);
    await redis.cli("SADD", "queues", ...HOSTILE, ...LEFT_OUT);
    const { stdout } = await jobs(["completions", shell]);
    await Deno.writeTextFile(`${bench.folder}/completions`, stdout);
    await Deno.writeTextFile(`${bench.folder}/timeout`, '#!/bin/sh\nshift\nexec "$@"\n', { mode: 0o755 });
    await writeProgram(bench.folder);
    // bash inserts what it is given: running the line must give the names back.
    const script = shell === "bash"
      ? COMPLETE.bash.replace(/printf.*$/, 'for reply in "${COMPREPLY[@]}"; do eval "printf \'%s\\n\' $reply"; done')
      : COMPLETE[shell as "zsh" | "fish"];
    const { success, stdout: bytes, stderr } = await new Deno.Command(shell, {
      args: ["-c", script, `${bench.folder}/completions`, "jobs", "clear", ""],
      env: { JOBS_STORE: redis.url, PATH: `${bench.folder}:${Deno.env.get("PATH")}`, HOME: bench.folder },
      cwd: bench.folder,
    }).output();
    assertEquals(success, true, new TextDecoder().decode(stderr));
    const offered = new TextDecoder().decode(bytes).trimEnd().split("\n").sort();
    assertEquals(offered, HOSTILE.toSorted());
    await assertRejects(() => Deno.stat(`${bench.folder}/pwned`), Deno.errors.NotFound);
  });
}

Deno.test("rejects an unknown shell in one line", async () => {
  for (const command of ["completions", "shell-init"]) {
    for (const args of [[], ["tcsh"], ["bash", "zsh"]]) {
      const { code, stdout, stderr } = await jobs([command, ...args]);
      assertEquals([code, stdout], [2, ""]);
      assertMatch(stderr, /^jobs: (Missing argument|Unknown shell|Unexpected argument).*\bbash\b.*\n$/);
    }
  }
});

/** Runs the function of `jobs shell-init` in a shell that has a background job. */
const RUN: Readonly<Record<string, { readonly load: string; readonly job: string }>> = {
  bash: { load: 'eval "$("$0" shell-init bash)"', job: "set -m; sleep 300 &" },
  zsh: { load: 'eval "$("$0" shell-init zsh)"', job: "setopt monitor 2>/dev/null; sleep 300 &" },
  fish: { load: "$argv[1] shell-init fish | source", job: "sleep 300 &" },
  sh: { load: 'eval "$("$0" shell-init sh)"', job: "sleep 300 &" },
};

for (const [shell, { load, job }] of Object.entries(RUN)) {
  Deno.test(`runs this program for its commands and the builtin otherwise, in ${shell}`, async () => {
    if (shell !== "bash" && shell !== "sh") requireTool(shell);
    await using bench = await Bench.open();
    const program = await compileOnce();
    const env = { JOBS_STORE: bench.url, HOME: bench.folder };
    const run = async (command: string) => {
      const { stdout, stderr } = await new Deno.Command(shell, {
        args: [
          "-c",
          `${load}\n${job}\n${command}\nkill $!`.replace("kill $!", shell === "fish" ? "kill $last_pid" : "kill $!"),
          program,
        ],
        env,
        stdin: "null",
      }).output();
      return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    };
    assertMatch(await run("jobs push Greet bob --in 1h"), /^[0-9a-f]{24}$/m);
    assertMatch(await run("jobs stats"), /^scheduled +1$/m);
    assertMatch(await run("jobs --json stats"), /"scheduled": 1/);
    assertMatch(await run("jobs --version"), /^jobs \d/m);
    // dash lists no commands unless it is interactive.
    const listed = shell === "sh" ? /Running/ : /sleep/;
    assertMatch(await run("jobs"), listed);
    assertMatch(await run("jobs -l"), listed);
    if (shell !== "sh") assertMatch(await run("jobs %1"), /sleep/);
  });
}

Deno.test("the function lists the shell's jobs in a pipe as the builtin does, in bash", async () => {
  // Aliases are only expanded in lines after their definition. A short process ID has more spaces before it.
  const script = (load: string) =>
    `shopt -s expand_aliases\n${load}\nset -m\nsleep 300 &\n` +
    `jobs -p | grep -cx "$!"\njobs | sed s/^/pipe:/\njobs -l | sed "s/ *$! / PID /"\n(jobs -p)\njobs stats | head -1\nkill $!`;
  const run = async (load: string) => {
    await using bench = await Bench.open();
    return await runHere("bash", ["-c", script(load), await compileOnce()], {
      JOBS_STORE: bench.url,
      HOME: bench.folder,
    });
  };
  const [withFunction, plain] = [await run('eval "$("$0" shell-init bash)"'), await run("")];
  const lines = (text: string) => text.split("\n").filter((line) => line.includes("sleep") || /^\d+$/.test(line));
  assertEquals(lines(withFunction), lines(plain));
  assertEquals(lines(plain)[0], "1");
  assertMatch(withFunction, /^processed +0$/m);
});
