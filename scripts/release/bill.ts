/**
 * Documents about the parts of an executable: a bill of materials in CycloneDX, all licenses as text, and Debian's
 * copyright file.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Component } from "./components.ts";

/** The program that has the parts. */
export interface Program {
  readonly version: string;
  /** The text of its license. */
  readonly license: string;
  /** The time of its commit, in seconds. */
  readonly time: number;
}

/** Returns the bill of materials: CycloneDX 1.6 as JSON. The same parts make the same document. */
export function billOfMaterials(components: readonly Component[], { version, time }: Program): string {
  const references = new Map(components.map((part) => [part.name, part.purl ?? part.name]));
  const refsOf = (names: readonly string[]) => names.flatMap((name) => references.get(name) ?? []).sort();
  const root = `pkg:generic/jobs@${version}`;
  const used = new Set(components.flatMap(({ uses }) => uses));
  const content = {
    metadata: {
      timestamp: new Date(time * 1000).toISOString().replace(".000", ""),
      component: {
        ...{ "bom-ref": root, type: "application", name: "jobs", version, purl: root },
        licenses: [{ license: { id: "MIT" } }],
      },
    },
    components: components.map(({ name, version, type, description, license, copyright, purl, sha512 }) => ({
      ...{ "bom-ref": purl ?? name, type, name, ...(version && { version }), description },
      licenses: /[ (]/.test(license) ? [{ expression: license }] : [{ license: { id: license } }],
      copyright,
      ...(purl && { purl }),
      ...(sha512 && { hashes: [{ alg: "SHA-512", content: sha512 }] }),
    })),
    dependencies: [
      { ref: root, dependsOn: refsOf(components.map(({ name }) => name).filter((name) => !used.has(name))) },
      ...components.map(({ name, uses }) => ({ ref: references.get(name)!, dependsOn: refsOf(uses) })),
    ],
    // The parts of Deno itself, such as its Rust crates, are listed by its project alone.
    compositions: [{ aggregate: "incomplete", assemblies: refsOf(["deno"]) }],
  };
  const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  // A UUID of version 8: from the content.
  const uuid = digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
  const head = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
  };
  return `${JSON.stringify({ ...head, serialNumber: `urn:uuid:${uuid}`, version: 1, ...content }, null, 2)}\n`;
}

/** Returns the text of every license, each once, after the parts that have it. */
export function licenseTexts(components: readonly Component[], { license }: Pick<Program, "license">): string {
  const groups = [...byText(components)].map(([text, parts]) =>
    [...parts.map((part) => `${titleOf(part)}: ${part.license}`), "", ...noticesOf(parts, text), text].join("\n")
  );
  return [
    `jobs: MIT\n\n${license.trim()}`,
    "The executable and the library contain parts of other projects. Their licenses follow.",
    ...groups,
  ].join(`\n\n${"-".repeat(80)}\n\n`) + "\n";
}

/** Returns `/usr/share/doc/jobs/copyright`, in Debian's machine-readable format. */
export function debianCopyright(components: readonly Component[], { license }: Program): string {
  const stanza = (fields: Readonly<Record<string, string>>) =>
    Object.entries(fields).map(([name, value]) => {
      const [first, ...more] = value.split("\n").map((line) => line.trimEnd());
      return [`${name}: ${first}`, ...more.map((line) => line === "" ? " ." : ` ${line}`)].join("\n");
    }).join("\n");
  const copyright = license.match(/Copyright.*/)?.[0] ?? "the authors";
  return [
    stanza({ Format: "https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/", "Upstream-Name": "jobs" }),
    stanza({ Files: "*", Copyright: copyright, License: `MIT\n${license.trim()}` }),
    ...[...byText(components)].map(([text, parts]) =>
      stanza({
        Files: parts.map(({ name }) => `embedded/${name}/*`).join("\n"),
        Copyright: [...new Set(parts.map((part) => part.copyright))].join("\n"),
        License: `${parts[0]!.license}\n${text}`,
        Comment: `Part of /usr/bin/jobs: ${parts.map(titleOf).join(", ")}`,
      })
    ),
  ].join("\n\n") + "\n";
}

function titleOf({ name, version }: Component): string {
  return version === undefined ? name : `${name} ${version}`;
}

/** Returns the copyright of those whose license doesn't state it. */
function noticesOf(parts: readonly Component[], text: string): string[] {
  const missing = [...new Set(parts.map(({ copyright }) => copyright))].filter((line) => !text.includes(line));
  return missing.length === 0 ? [] : [`Copyright: ${missing.join(", ")}`, ""];
}

function byText(components: readonly Component[]): Map<string, Component[]> {
  return Map.groupBy(components, ({ text }) => text);
}
