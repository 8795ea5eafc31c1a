/**
 * The command line of `main.ts`.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { type StoreKind, STORES } from "../support/servers.ts";
import type { SoakOptions } from "./soak.ts";

/** The options of a soak. */
export interface CommandLine extends Omit<SoakOptions, "store" | "folder" | "signal"> {
  readonly stores: readonly StoreKind[];
  /** Keep logs and ledgers also when nothing was found. */
  readonly keep: boolean;
}

const FLAGS = ["minutes", "seconds", "store", "seed", "workers", "rate", "timeout", "only"] as const;

/** @throws {RangeError} with one line that says which option is wrong, and what was expected */
export function readOptions(argv: readonly string[]): CommandLine {
  const parsed: unknown = parseArgs([...argv], {
    string: [...FLAGS],
    boolean: ["keep"],
    unknown: (name) => {
      throw new RangeError(
        `Unknown argument "${name}": expected ${FLAGS.map((flag) => `--${flag}`).join(", ")}, --keep`,
      );
    },
  });
  const given = parsed as Partial<Record<typeof FLAGS[number], string>> & { readonly keep: boolean };
  const number = (flag: typeof FLAGS[number], ifAbsent: number, low: number, high: number) => {
    const value = given[flag] || String(ifAbsent);
    if (!(Number(value) >= low && Number(value) <= high)) {
      throw new RangeError(`Invalid --${flag} "${value}": expected a number from ${low} to ${high}`);
    }
    return Number(value);
  };
  const { store = "both", only } = given;
  if (!["both", ...STORES].includes(store)) {
    throw new RangeError(`Invalid --store "${store}": expected ${STORES.join(", ")} or both (sqlite and redis)`);
  }
  return {
    stores: store === "both" ? ["sqlite", "redis"] : [store as StoreKind],
    seed: number("seed", Math.floor(Math.random() * 1e6), 0, 2 ** 32 - 1),
    durationMs: 1_000 * number("seconds", 60 * number("minutes", 1, 0.1, 10_000), 1, 600_000),
    workers: number("workers", 4, 2, 5),
    rate: number("rate", 60, 1, 1_000),
    heartbeatTimeoutMs: 1_000 * number("timeout", 3, 1, 60),
    keep: given.keep,
    ...(only === "shop" ? { shop: true } : only && { only: only.split(",") }),
  };
}
