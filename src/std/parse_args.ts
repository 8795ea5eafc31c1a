// @ts-types="./parse_args.d.ts"
export * from "deno-std/cli/parse_args.js";
