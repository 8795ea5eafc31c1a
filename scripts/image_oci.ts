/**
 * Layers → an OCI image: a manifest, a configuration and the layers, each a blob named by its digest, in one archive. The
 * same layers make the same archive.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { file, type Member, tar } from "./archive.ts";

/** Options of {@linkcode image}. */
export interface ImageOptions {
  /** `amd64`, `arm64`. */
  readonly architecture: string;
  /** How the container runs: the `config` of the image. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The name and tag that it is loaded under: `jobs:0.1.0`. */
  readonly name: string;
  /** The gzip level, from 0 to 9. */
  readonly level: number;
}

/** The image. */
export interface Image {
  /** As a file for `podman load`, `docker load`, `skopeo`. */
  readonly archive: Uint8Array;
  /** Its name: `sha256:…`, the digest of its manifest. */
  readonly digest: string;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const OCI = "application/vnd.oci.image";

/** Makes the image from its layers, the lowest first. */
export function image(
  layers: readonly (readonly Member[])[],
  { architecture, config, name, level }: ImageOptions,
): Image {
  const blobs = new Map<string, Uint8Array>();
  const pathOf = (digest: string) => `blobs/${digest.replace(":", "/")}`;
  const add = (mediaType: string, content: Uint8Array): Descriptor => {
    const digest = sha256(content);
    blobs.set(pathOf(digest), content);
    return { mediaType, digest, size: content.length };
  };
  const archives = layers.map(tar);
  const packed = archives.map((archive) => add(`${OCI}.layer.v1.tar+gzip`, gzipSync(archive, { level })));
  const configuration = add(
    `${OCI}.config.v1+json`,
    json({ architecture, os: "linux", config, rootfs: { type: "layers", diff_ids: archives.map(sha256) } }),
  );
  const manifest = add(
    `${OCI}.manifest.v1+json`,
    json({ schemaVersion: 2, mediaType: `${OCI}.manifest.v1+json`, config: configuration, layers: packed }),
  );
  const index = {
    schemaVersion: 2,
    mediaType: `${OCI}.index.v1+json`,
    manifests: [{
      ...manifest,
      platform: { architecture, os: "linux" },
      annotations: {
        "io.containerd.image.name": `docker.io/library/${name}`,
        "org.opencontainers.image.ref.name": name.slice(name.indexOf(":") + 1),
      },
    }],
  };
  // Docker without the image store of containerd reads this file alone. Before Docker 29, that is the default.
  const docker = [{
    Config: pathOf(configuration.digest),
    RepoTags: [name],
    Layers: packed.map(({ digest }) => pathOf(digest)),
  }];
  const archive = tar([
    file("oci-layout", json({ imageLayoutVersion: "1.0.0" })),
    file("index.json", json(index)),
    file("manifest.json", json(docker)),
    { path: "blobs", mode: 0o755, owner: 0 },
    { path: "blobs/sha256", mode: 0o755, owner: 0 },
    ...[...blobs].map(([path, content]) => file(path, content)),
  ]);
  return { archive, digest: manifest.digest };
}

function sha256(content: Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
