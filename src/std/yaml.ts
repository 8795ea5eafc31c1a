// @ts-types="./yaml.d.ts"
export * from "deno-std/yaml/_loader_state.js";
