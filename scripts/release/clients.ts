/**
 * The packages of the clients: `jobs-client-VERSION.tgz` for npm, and a wheel for pip. Neither needs a registry.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { file, type Member, zip } from "../archive.ts";
import { ROOT } from "../bundle.ts";
import type { Program } from "./bill.ts";
import { packedFolder, pathsIn } from "./packages.ts";

/** Returns the packages by their names. */
export async function clientPackages(program: Program): Promise<Member[]> {
  return [await nodePackage(program), await pythonWheel(program)];
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

async function filesOf(folder: string): Promise<Member[]> {
  const paths = await pathsIn(folder);
  return await Promise.all(
    paths.map(async (path) => file(path.slice(folder.length + 1), await Deno.readFile(join(ROOT, path)))),
  );
}
