/**
 * The words that this project doesn't write, and what to write instead. `deno lint` applies the table to the comments
 * and strings of the program, `make check` also to the pages, Lua and SQL (`lint/words_files.ts`).
 *
 * A folder joins {@linkcode COVERED} when all its files pass.
 *
 * @module
 */
import { isIn, projectPath } from "./source.ts";

/** One row of the table. */
export interface BannedPhrase {
  readonly pattern: RegExp;
  /** What to write instead. */
  readonly instead: string;
  /** Applies to comments and pages only: in strings it has uses that are right. */
  readonly proseOnly?: boolean;
}

/** The table. Code in backticks is exempt. */
export const BANNED: readonly BannedPhrase[] = [
  { pattern: /\bso (many|long|often)\b/i, instead: '"after this many", "at most every 100 ms", "as long as"' },
  {
    pattern: /\b(whoever|nobody|somebody|anybody|everybody)\b/i,
    instead: "the worker, the client, the operator, no worker",
  },
  { pattern: /\bwanted:|\b(is|are) wanted\b/i, instead: '"expected X"' },
  {
    pattern: /\b(its|one's|his|her|our|their) own\b/i,
    instead: 'nothing ("its log"), "separate", "new", or the name of the thing ("Sidekiq\'s log")',
  },
  { pattern: /\bof (ours|yours)\b|\bthat of those\b/i, instead: "the name of the thing" },
  { pattern: /(?<!there )\b(is|are) no\b(?! longer\b)/i, instead: '"isn\'t", "invalid", "unknown", "doesn\'t exist"' },
  { pattern: /\banew\b/i, instead: '"again"' },
  { pattern: /\bfor ever\b/i, instead: '"forever", "permanently", "without limit"' },
  { pattern: /\bin vain\b/i, instead: '"without success"' },
  { pattern: /\ball the same\b/i, instead: '"anyway", "still"' },
  { pattern: /\bfor want of\b/i, instead: '"without", "for lack of"' },
  { pattern: /\bas it stands\b/i, instead: '"unchanged", "current"' },
  { pattern: /\bwhat (became|becomes) of\b/i, instead: '"outcome", "result", "history"' },
  { pattern: /\bbeside\b/i, instead: '"next to", "besides", "in addition to"' },
  { pattern: /\bsuperfluous\b/i, instead: '"unexpected"' },
  { pattern: /\bgo(es|ing)? on\b(?! \w+ing\b)/i, instead: '"continues"' },
  // A noun clause as the subject: "What is refused stops none of the others". A question is right.
  {
    pattern: /(?:^\s*|[.!?:]\s+|\n\s*\n\s*|\n\s*[-|]\s+)(What|Who|Whose)\s(?![^.!?]*\?)/,
    instead: "the name of the thing as the subject",
    proseOnly: true,
  },
];

/** Files, and folders ending in `/`, that are held to the table: the whole project. */
export const COVERED: readonly string[] = [
  "main.ts",
  "src/",
  "tests/",
  "examples/",
  "lint/",
  "scripts/",
  "clients/",
  "packaging/",
  "docs/",
  "README.md",
  "CHANGELOG.md",
];

/** One place where a text breaks the table. */
export interface Finding {
  /** Offset in the text. */
  readonly index: number;
  readonly phrase: string;
  readonly instead: string;
}

/** Returns each banned phrase of a text. Code in backticks is skipped. */
export function bannedPhrases(text: string, kind: "prose" | "string"): Finding[] {
  const prose = text.replace(/`[^`]*`/g, (code) => " ".repeat(code.length));
  return BANNED.filter(({ proseOnly }) => kind === "prose" || !proseOnly).flatMap(({ pattern, instead }) =>
    [...prose.matchAll(acrossLines(pattern))].map((match) => ({
      index: match.index + match[0].search(/[\w"]/),
      phrase: match[0].replace(/^\W+/, "").replace(/\s+/g, " ").trim(),
      instead,
    }))
  );
}

/** A blank in a pattern matches a line break, too. */
function acrossLines({ source, flags }: RegExp): RegExp {
  return new RegExp(source.replaceAll(" ", "\\s+"), `${flags}g`);
}

/** Returns whether the table applies to the file at `path`, which is relative to the project's folder. */
export function isCovered(path: string): boolean {
  // The table, and the tests of the rule, have to name what they ban.
  return isIn(path, COVERED) && !/^lint\/words(_test)?\.ts$/.test(path);
}

/** The rule `jobs/words`: comments, strings, templates and the text of JSX. */
export const words: Deno.lint.Rule = {
  create(context) {
    if (!isCovered(projectPath(context.filename))) return {};
    const check = (start: number, text: string, kind: "prose" | "string") => {
      for (const { index, phrase, instead } of bannedPhrases(text, kind)) {
        const range: [number, number] = [start + index, start + index + phrase.length];
        context.report({ range, message: `"${phrase}": write ${instead}` });
      }
    };
    return {
      "Program"() {
        for (const { start, text } of proseOf(context.sourceCode)) check(start, text, "prose");
      },
      Literal(node) {
        if (typeof node.value === "string") check(node.range[0], context.sourceCode.getText(node), "string");
      },
      TemplateElement(node) {
        check(node.range[0], node.raw, "string");
      },
      JSXText(node) {
        check(node.range[0], node.raw, "string");
      },
    };
  },
};

/** The comments, with their marks blanked out. Line comments below each other are one text. */
function proseOf(source: Deno.lint.SourceCode): { start: number; text: string }[] {
  const texts: { start: number; end: number; text: string }[] = [];
  for (const { range: [start, end], type } of source.getAllComments()) {
    const raw = source.text.slice(start, end);
    const text = type === "Line" ? blank(raw, /^\/\//) : blank(blank(raw, /^\/\*+|\*+\/$/g), /(?<=\n)[ \t]*\*/g);
    const last = texts.at(-1);
    const between = last && source.text.slice(last.end, start);
    if (type === "Line" && between !== undefined && /^\n[ \t]*$/.test(between)) {
      last!.text += between + text;
      last!.end = end;
    } else texts.push({ start, end, text });
  }
  return texts.map(({ start, text }) => ({
    start,
    text: text.replace(/^\s+/, (space) => space.replaceAll("\n", " ")),
  }));
}

function blank(text: string, pattern: RegExp): string {
  return text.replace(pattern, (mark) => " ".repeat(mark.length));
}
