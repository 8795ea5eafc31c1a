// @ts-types="./yaml.d.ts"
export * from "deno-std/yaml/parse.js";
