import { afterAll } from "vitest";
import { NO_DATABASE, type Recipe, run, testLibraries, testRecipes } from "../../support/node/foreign-credentials.ts";
import { compiledVerifySession, hasJava, succeeds } from "../../support/node/verify-session.ts";

const hasJoserfc = succeeds("python3", "-c", "import joserfc");
const inJava = compiledVerifySession();
afterAll(inJava.remove);

const RECIPES: Recipe[] = [
  {
    file: "orders.py",
    needs: "PyJWT and psycopg",
    isThere: succeeds("python3", "-c", "import jwt, cryptography, psycopg"),
    present: async (credential) => {
      const env = { ...NO_DATABASE, PYTHONPATH: "python" };
      const { stdout, stderr } = await run(["python3", "examples/embedding/orders.py"], credential, env);
      return stderr.includes("OperationalError") ? '"amount":7' : stdout + stderr;
    },
  },
  {
    file: "verify-fast-jwt.ts",
    present: async (credential) =>
      (await run([process.execPath, "examples/consumers/verify-fast-jwt.ts"], credential)).stdout,
  },
  {
    file: "verify_joserfc.py",
    needs: "joserfc",
    isThere: hasJoserfc,
    present: async (credential) => {
      const { stdout } = await run(["python3", "examples/consumers/verify_joserfc.py"], credential);
      return stdout.replace(": ", ":");
    },
  },
  {
    file: "VerifySession.java",
    needs: "a JDK, 17 or newer",
    isThere: hasJava,
    present: async (credential) => (await run(inJava.command, credential)).stdout,
  },
];

testRecipes(RECIPES, /\.(?:java|py)$/);
testLibraries([
  { library: "fast-jwt", program: [process.execPath, "examples/consumers/verify-fast-jwt.ts"], isThere: true },
  { library: "joserfc", program: ["python3", "examples/consumers/verify_joserfc.py"], isThere: hasJoserfc },
]);
