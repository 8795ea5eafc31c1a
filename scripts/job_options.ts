/**
 * docs/reference/job-options.md, generated from src/job/options.ts. `deno task docs` writes it, and a test fails if it is out
 * of date.
 *
 * @module
 */
import type { JobOption } from "../src/job/options.ts";
import { jobOption, optionNames, PUSH_FLAGS } from "../src/job/option_names.ts";

/** The page. */
export const PAGE: URL = new URL("../docs/reference/job-options.md", import.meta.url);

const HEAD = `<!-- Written by \`deno task docs\` from src/job/options.ts. -->

# Job options

An option applies to one job or to a class. It can be set:

- **push**: on one job: \`client.push(…, { retry: 5 })\`, a field of the body of \`POST /api/v1/jobs\`, or the flag of \`jobs push\`
- **class**: as the default for the jobs of a class: \`defineJob(name, perform, { retry: 5 })\`, or \`HardJob.options = { retry: 5 }\`
- **cron**: on a cron entry
- **exec**: on a class that an external program or an [HTTP endpoint](../guides/http-handlers.md) performs

A push or a cron entry overrides the class. \`false\` turns off its \`group\`, \`unique_for\`, \`debounce\` or \`throttle\`. Times are seconds or durations: \`90\`, \`250ms\`, \`30s\`, \`5m\`, \`2h\`, \`1d\`, \`1h30m\`.
`;

const TAIL = `
**Counting failures.** \`ctx.attempt\` is 1 at the first attempt. \`count\`, as \`retryIn\` receives it and \`backoff\` uses it, is the number
of earlier failures: 0 after the first attempt has failed, so \`attempt\` - 1. \`retry: 5\` allows 5 retries, so 6 attempts. After a retry by hand,
\`ctx.attempt\` is one more than all failures, while \`count\` is one lower: that attempt uses none of the retries.

**The delay before a retry** is the first of these that is set: \`retryIn\` of the class, \`backoff\` of the push, \`backoff\` of the class,
and else Sidekiq's: count⁴ + 15 seconds, and up to 10 · (count + 1) seconds of jitter. With \`backoff\`:

| \`type\`        | delay                |
| ------------- | -------------------- |
| \`fixed\`       | \`base\`             |
| \`linear\`      | \`base\` · (count + 1) |
| \`exponential\` | \`base\` · 2^count     |

\`max\` limits the delay. \`jitter: 0.2\` varies it at random by up to 20 % to both sides, so that jobs that failed together don't come
back together.

**Any other field** is kept in the payload as it is, and the handler finds it in \`ctx.payload\`. A name close to an option is warned
about: \`retrys\` → did you mean "retry"?
`;

/** Returns the page. */
export function page(): string {
  return `${HEAD}\n${table()}\n${TAIL}`;
}

function table(): string {
  const rows = optionNames().map((name) => {
    const { on, default: usual, about } = jobOption(name) as JobOption;
    const flag = PUSH_FLAGS.has(name.replaceAll("_", "-")) ? `\`--${name.replaceAll("_", "-")}\`` : "";
    return [`\`${name}\``, flag, on.join(", "), usual, about].map((cell) => cell.replaceAll("|", "\\|"));
  });
  const all = [["option", "flag", "set on", "default", "meaning"], ...rows];
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(all[0]!), line(all[0]!.map(() => "---")), ...rows.map(line)].join("\n");
}

if (import.meta.main) await Deno.writeTextFile(PAGE, page());
