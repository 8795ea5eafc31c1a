import { testClient } from "./conformance/test.ts";

testClient("Ruby", "ruby", new URL("./worker.rb", import.meta.url), "Redis");
