import { beforeEach } from "vitest";
import { failingKv } from "./hostile-kv.ts";

beforeEach(failingKv);
