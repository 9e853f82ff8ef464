import { afterAll } from "vitest";
import { testVerifiers } from "../../support/node/verifiers.ts";
import { compiledVerifySession, hasJava, succeeds } from "../../support/node/verify-session.ts";

const inJava = compiledVerifySession();
afterAll(inJava.remove);

testVerifiers([
  {
    name: "fast-jwt",
    needs: "the package fast-jwt",
    command: [process.execPath, "examples/consumers/verify-fast-jwt.ts"],
    isThere: true,
  },
  {
    name: "joserfc",
    needs: "python3 with joserfc",
    command: ["python3", "examples/consumers/verify_joserfc.py"],
    isThere: succeeds("python3", "-c", "import joserfc"),
  },
  {
    name: "java.security",
    needs: "a JDK, 17 or newer",
    command: inJava.command,
    isThere: hasJava,
  },
]);
