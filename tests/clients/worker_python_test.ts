import { testClient } from "./conformance/test.ts";

testClient("Python", "python3", new URL("./worker.py", import.meta.url), "SQLite");
