/**
 * The pages of the site that are made from the program.
 *
 * @module
 */
import type { Command } from "../../src/cli/commands_table.ts";
import { openStore } from "../../src/store/open.ts";
import { createWeb } from "../../src/web/web.ts";
import { join } from "node:path";
import { denoCommand, outputOf } from "../deno_command.ts";

/** The page of a command: its help text, and those of its subcommands. */
export function commandPage(name: string, about: string, { help, subcommands = {} }: Command): string {
  const block = (text: string) => ["```text", text.trim(), "```"].join("\n");
  const parts = Object.entries(subcommands).map(([sub, text]) => `## jobs ${name} ${sub}\n\n${block(text)}`);
  return [`# jobs ${name}`, `${about[0]!.toUpperCase()}${about.slice(1)}.`, block(help), ...parts].join("\n\n") + "\n";
}

/** A JSON schema, as far as the API uses it. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
}

/** An operation of the OpenAPI document. */
interface Operation {
  readonly summary: string;
  readonly parameters?: readonly { name: string; in: string; description?: string; required?: boolean }[];
  readonly requestBody?: { content: Readonly<Record<string, { schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { description?: string; content?: Readonly<Record<string, { schema: Schema }>> }>
  >;
}

/** The page of the HTTP API, from the document that the dashboard serves. */
export async function httpPage(): Promise<string> {
  await using store = await openStore("sqlite::memory:");
  await using web = createWeb({ store });
  const response = await web.handle(new Request("http://localhost/api/v1/openapi.json"), "127.0.0.1");
  const document = await response.json() as { paths: Record<string, Record<string, Operation>> };
  const sections = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationSection(method, path, operation))
  );
  return `# HTTP API

\`jobs run --web 7433\` and \`jobs web\` serve it below \`/api/v1\`. \`GET /api/v1/openapi.json\` is the OpenAPI document from which this page is made. On
127.0.0.1 it needs no login until users exist. Elsewhere send \`Authorization: Bearer TOKEN\` ([security](../operate/security.md)). \`GET\` requires the role reader,
\`POST\` operator and \`Content-Type: application/json\`.

${sections.join("\n\n")}
`;
}

function operationSection(method: string, path: string, operation: Operation): string {
  const parameters = operation.parameters ?? [];
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
  return [
    `## ${method.toUpperCase()} ${path.replaceAll("{", "").replaceAll("}", "")}`,
    `\`${method.toUpperCase()} /api/v1${path}\`: ${escape(operation.summary)}.`,
    parameters.length === 0 ? "" : table(
      ["parameter", "in", "meaning"],
      parameters.map(({ name, in: where, description = "" }) => [`\`${name}\``, where, escape(description)]),
    ),
    body === undefined ? "" : `Body:\n\n${schemaTable(body)}`,
    ...answers.map(([status, { content = {} }]) => {
      const schema = Object.values(content)[0]?.schema;
      return schema === undefined ? "" : `Response ${status}:\n\n${schemaTable(schema)}`;
    }),
  ].filter((part) => part !== "").join("\n\n");
}

function schemaTable(schema: Schema): string {
  const fields = Object.entries(schema.items?.properties ?? schema.properties ?? {});
  if (fields.length === 0) return `\`${typeOf(schema)}\``;
  const rows = fields.map(([name, field]) => [`\`${name}\``, typeOf(field), escape(field.description ?? "")]);
  return `${schema.items === undefined ? "" : "A list of:\n\n"}${table(["field", "type", "meaning"], rows)}`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1)!;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.oneOf !== undefined) return schema.oneOf.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${schema.items === undefined ? "any" : typeOf(schema.items)}`;
  return typeof schema.type === "string" ? schema.type : schema.type?.join(" or ") ?? "any";
}

/** A declaration as `deno doc --json` prints it. */
interface DocSymbol {
  readonly name: string;
  readonly declarations: readonly { readonly kind: string; readonly jsDoc?: { readonly doc?: string } }[];
}

/** The page of the library: every exported name with its docstring. */
export async function libraryPage(root: string): Promise<string> {
  const modules = [join(root, "src/mod.ts"), join(root, "src/testing/mod.ts")];
  const { success, stdout, stderr } = await outputOf(denoCommand("doc", "--json", ...modules));
  if (!success) throw new Error(stderr);
  const { nodes } = JSON.parse(stdout) as { nodes: Record<string, { symbols: DocSymbol[] }> };
  const symbols = Object.values(nodes).flatMap((node) => node.symbols);
  const sections = symbols.toSorted((a, b) => a.name < b.name ? -1 : 1).map(({ name, declarations }) => {
    const [first] = declarations;
    const text = declarations.map(({ jsDoc }) => jsDoc?.doc).find((doc) => doc) ?? "";
    return `## ${name}\n\n*${first!.kind}*\n\n${linked(text)}`;
  });
  return `# Library

Every name that a program imports, from its docstring. [The library](../guides/library.md) explains them with examples; \`deno doc\` and editors show members and types.

${sections.join("\n\n")}
`;
}

/** Turns `{@linkcode Name}` into code. Angle brackets outside of code would be HTML. */
function linked(text: string): string {
  const named = text.replace(/\{@link(?:code|plain)? ([^}|]+)(?:\|[^}]*)?\}/g, "`$1`");
  return named.split(/(```[^]*?```|`[^`\n]*`)/).map((part, i) => i % 2 === 1 ? part : escape(part)).join("");
}

function escape(text: string): string {
  return text.replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;").replaceAll("|", "\\|").replaceAll("\n", " \n");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll(/\s*\n\s*/g, " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
