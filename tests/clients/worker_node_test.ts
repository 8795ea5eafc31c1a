import { testClient } from "./conformance/test.ts";

testClient("Node", "node", new URL("./worker.mjs", import.meta.url), "Redis");
