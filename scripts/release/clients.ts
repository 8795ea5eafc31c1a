/**
 * The packages of the clients: `jobs-client-VERSION.tgz` for npm, a wheel for pip, a gem for Ruby. None needs a registry.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { file, type Member, tar, zip } from "../archive.ts";
import { ROOT } from "../bundle.ts";
import type { Program } from "./bill.ts";
import { packedFolder, pathsIn } from "./packages.ts";

/** Returns the packages by their names. */
export async function clientPackages(program: Program): Promise<Member[]> {
  return [await nodePackage(program), await pythonWheel(program), await rubyGem(program)];
}

async function nodePackage(program: Program): Promise<Member> {
  const files = await filesOf("clients/node");
  const { name, version } = JSON.parse(await Deno.readTextFile(join(ROOT, "clients/node/package.json")));
  const members = [...files, file("LICENSE", program.license)];
  return file(`${name}-${version}.tgz`, packedFolder("package", members, { level: 9, program }));
}

/** Makes the wheel of the one module by the fields of `pyproject.toml`. */
async function pythonWheel({ license, time }: Program): Promise<Member> {
  const project = await Deno.readTextFile(join(ROOT, "clients/python/pyproject.toml"));
  const field = (key: string) => project.match(new RegExp(`^${key} = "(.*)"$`, "m"))![1]!;
  const name = `${field("name").replaceAll("-", "_")}-${field("version")}`;
  const info = `${name}.dist-info`;
  const files = [
    ...(await filesOf("clients/python")).filter(({ path }) => path.endsWith(".py")),
    file(`${info}/licenses/LICENSE`, license),
    file(
      `${info}/METADATA`,
      [
        "Metadata-Version: 2.4",
        `Name: ${field("name")}`,
        `Version: ${field("version")}`,
        `Summary: ${field("description")}`,
        "License-Expression: MIT",
        "License-File: LICENSE",
        `Requires-Python: ${field("requires-python")}`,
        "",
      ].join("\n"),
    ),
    file(`${info}/WHEEL`, "Wheel-Version: 1.0\nGenerator: jobs\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
  ];
  const record = `${info}/RECORD`;
  const rows = files.map(({ path, content }) =>
    `${path},sha256=${createHash("sha256").update(content!).digest("base64url")},${content!.length}\n`
  );
  return file(`${name}-py3-none-any.whl`, zip([...files, file(record, `${rows.join("")}${record},,\n`)], time));
}

/** Makes the gem by the fields of the `.gemspec`: an archive of its files and of its description in YAML, as RubyGems writes it. */
async function rubyGem({ license, time }: Program): Promise<Member> {
  const spec = await Deno.readTextFile(join(ROOT, "clients/ruby/jobs-client.gemspec"));
  const field = (key: string) => spec.match(new RegExp(`spec\\.${key} = \\[?"(.*?)"`))![1]!;
  const files = [
    ...(await filesOf("clients/ruby")).filter(({ path }) => path.endsWith(".rb")),
    file("LICENSE", license),
  ];
  const requirement = (version: string) =>
    [
      "!ruby/object:Gem::Requirement",
      "requirements:",
      '- - ">="',
      "  - !ruby/object:Gem::Version",
      `    version: '${version}'`,
    ]
      .join("\n  ");
  const description = [
    "--- !ruby/object:Gem::Specification",
    `name: ${field("name")}`,
    `version: !ruby/object:Gem::Version\n  version: ${field("version")}`,
    "platform: ruby",
    `authors:\n- ${field("authors")}`,
    `date: ${new Date(time * 1000).toISOString().slice(0, 10)} 00:00:00.000000000 Z`,
    "dependencies: []",
    `files:\n${files.map(({ path }) => `- ${path}`).join("\n")}`,
    `licenses:\n- ${field("license")}`,
    "metadata: {}",
    `require_paths:\n- "."`,
    `required_ruby_version: ${requirement(field("required_ruby_version").replace(">= ", ""))}`,
    `required_rubygems_version: ${requirement("0")}`,
    "specification_version: 4",
    `summary: ${JSON.stringify(field("summary"))}`,
    "",
  ].join("\n");
  const parts = [
    file("metadata.gz", gzipSync(description, { level: 9 })),
    file("data.tar.gz", gzipSync(tar(files, time), { level: 9 })),
  ];
  const sums = parts.map(({ path, content }) => `  ${path}: ${createHash("sha256").update(content!).digest("hex")}\n`);
  const checksums = gzipSync(`---\nSHA256:\n${sums.join("")}`, { level: 9 });
  return file(`${field("name")}-${field("version")}.gem`, tar([...parts, file("checksums.yaml.gz", checksums)], time));
}

async function filesOf(folder: string): Promise<Member[]> {
  const paths = await pathsIn(folder);
  return await Promise.all(
    paths.map(async (path) => file(path.slice(folder.length + 1), await Deno.readFile(join(ROOT, path)))),
  );
}
