/**
 * Things that only one place of the program may do. Each row of the table is a rule.
 *
 * @module
 */
import { isIn, programSource } from "./source.ts";

/** One thing that is kept in one place. */
interface Kept {
  /** As written: `Deno.exit`; `console` for all that it has; `new Date` for the one without arguments. */
  readonly names: readonly string[];
  /** Those of them that do no harm. */
  readonly except?: readonly string[];
  /** The files, or folders ending in `/`, that may. An exception stands here with its reason. */
  readonly only?: readonly string[];
  /** The folders it is kept out of; everywhere but `only` when left out. */
  readonly outOf?: readonly string[];
  /** The cure, for the message. */
  readonly instead: string;
}

const KEPT: Readonly<Record<string, Kept>> = {
  "no-console": {
    names: ["console"],
    only: ["src/log/log.ts", "src/log/output.ts"],
    instead: "log through the logger that is passed in, or print a command's result with src/cli/terminal/output.ts",
  },
  "no-print": {
    names: ["Deno.stdout", "Deno.stderr"],
    except: ["Deno.stdout.isTerminal", "Deno.stderr.isTerminal"],
    only: ["src/log/", "src/cli/terminal/output.ts"],
    instead: "log through the logger that is passed in, or print a command's result with src/cli/terminal/output.ts",
  },
  "no-exit": {
    names: ["Deno.exit"],
    only: ["main.ts"],
    instead: "return the exit code to main.ts, or throw",
  },
  "no-signal-listener": {
    names: ["Deno.addSignalListener", "Deno.removeSignalListener"],
    only: ["src/server/control/signals.ts"],
    instead: "add a row to the table in src/server/control/signals.ts",
  },
  "no-time": {
    names: [
      "Date.now",
      "new Date",
      "performance.now",
      "Temporal.Now",
      "setTimeout",
      "setInterval",
      "AbortSignal.timeout",
    ],
    only: ["src/clock.ts", "src/web/assets/"], // in a browser there is no other clock
    instead: "ask the `Clock` that is passed in, so that tests can hold time still",
  },
  "no-io-in-job": {
    names: ["Deno", "fetch"],
    outOf: ["src/job/"],
    instead: "do it in the caller and pass the result in: src/job/ is pure",
  },
};

/** The rules of the table, by name. */
export const placeRules: Readonly<Record<string, Deno.lint.Rule>> = Object.fromEntries(
  Object.entries(KEPT).map(([name, kept]) => [name, ruleOf(kept)]),
);

function ruleOf(kept: Kept): Deno.lint.Rule {
  return {
    create(context) {
      const path = programSource(context.filename)?.path;
      if (path === undefined || isIn(path, kept.only ?? [])) return {};
      if (kept.outOf !== undefined && !isIn(path, kept.outOf)) return {};
      const check = (node: Deno.lint.Node, name: string | undefined) => {
        if (name === undefined || !covers(kept.names, name) || covers(kept.except ?? [], name)) return;
        const where = kept.only === undefined ? "here" : `outside ${kept.only.join(" and ")}`;
        context.report({ node, message: `No \`${name}\` ${where}: ${kept.instead}` });
      };
      return {
        MemberExpression(node) {
          const isPartOfLonger = node.parent.type === "MemberExpression" && node.parent.object === node;
          if (!isPartOfLonger) check(node, nameOf(node));
        },
        CallExpression(node) {
          if (node.callee.type === "Identifier") check(node, node.callee.name);
        },
        NewExpression(node) {
          if (node.arguments.length === 0) check(node, `new ${nameOf(node.callee)}`);
        },
      };
    },
  };
}

/** Whether `name` is one of `names`, or something that one of them has. */
function covers(names: readonly string[], name: string): boolean {
  return names.some((one) => name === one || name.startsWith(`${one}.`));
}

/** `a.b.c` as written, whatever is computed as `*`; undefined when it does not begin with a name. */
function nameOf(node: Deno.lint.Node): string | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression") return undefined;
  const property = !node.computed && node.property.type === "Identifier" ? node.property.name : "*";
  const object = nameOf(node.object);
  if (object === "globalThis" || object === "self") return property;
  return object && `${object}.${property}`;
}
