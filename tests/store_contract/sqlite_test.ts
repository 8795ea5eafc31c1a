import { openSqliteTestStore } from "../support/stores.ts";
import { storeContract } from "./mod.ts";

storeContract("sqlite", openSqliteTestStore);
