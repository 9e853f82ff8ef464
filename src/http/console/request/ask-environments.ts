import { type Environment, parseDirectoryName } from "../../../../common/environment.ts";
import { ok, type Result } from "../../../../common/result.ts";
import type { Operator } from "../../../domain/credentials/caller.ts";
import type { Failure } from "../../../domain/failure.ts";
import { withTimeout } from "../../../domain/with-timeout.ts";
import { type Directory, directoryOf, refusalCodeOf } from "../../durable-objects.ts";
import { admitAgain, registryFor } from "../../request/admit-caller.ts";
import type { SignedInCall } from "../console-env.ts";

const AT_ONCE = 8;
/** For how long a page goes on to further environments, and to how many at most. */
const SECONDS_MAX = 8;
const ASKED_MAX = 160;
const ENVIRONMENT_SECONDS_MAX = 3;

export type Silence = "damaged" | "restoring" | "silent";

/** An environment, by its number in the registry and its name. */
type Source = { id: number; environment: Environment };

/** An environment that was asked, and what it has answered, or why it has not. */
type Asked<Answer> = Source & ({ answer: Answer; silence?: never } | { answer?: never; silence: Silence });

/** The environments in the order of their numbers, and the number of the first that was not asked; `null` after the last. */
export type Answers<Answer> = { asked: Asked<Answer>[]; next: number | null };

type Question<Answer> = {
  /** The number of the first environment to ask, and that of the first one after it that is not asked. */
  start: number;
  end?: number | undefined;
  ask: (directory: Directory, operator: Operator, of: Source) => Promise<Result<Answer, Failure>>;
  /** Takes an answer that came in time, and returns what to keep of it. The others are dropped, so that they fill no memory. */
  keep?: (answer: Answer, of: Source) => Answer;
  /** Whether an answer makes it needless to ask further ones. */
  isEnough?: (answer: Answer) => boolean;
};

/**
 * Asks environments one question, some at the same time, within bounds of time and number. One that does not answer holds up nothing. Refuses
 * an operator whose rights have ended meanwhile.
 */
export async function askEnvironments<Answer extends { hasWaited: boolean }>(
  c: SignedInCall,
  { start, end = Number.POSITIVE_INFINITY, ask, keep = (answer) => answer, isEnough = () => false }: Question<Answer>,
): Promise<Result<Answers<Answer>, Failure>> {
  const endsAt = Date.now() + SECONDS_MAX * 1000;
  const listed = await registryFor(c).listEnvironments(c.get("presentedOperator"), { start, limit: ASKED_MAX });
  if (!listed.ok) return listed;
  const { environments, next, operator } = listed.value;
  const within = environments.filter(({ id }) => id < end);
  const asked: Asked<Answer>[] = [];
  let count = 0;
  while (count < within.length && Date.now() < endsAt && !asked.some(({ answer }) => answer && isEnough(answer))) {
    const seconds = Math.min(ENVIRONMENT_SECONDS_MAX, (endsAt - Date.now()) / 1000);
    const batch = within.slice(count, count + AT_ONCE).map(async ({ id, name }): Promise<Asked<Answer> | undefined> => {
      const source = { id, environment: parseDirectoryName(name) };
      const answered = await answerOf(ask(directoryOf(c.env, source.environment), operator, source), seconds);
      if (typeof answered === "string") return { ...source, silence: answered };
      return answered && { ...source, answer: keep(answered, source) };
    });
    count += batch.length;
    asked.push(...(await Promise.all(batch)).filter((each) => each !== undefined));
  }
  const rest = within[count]?.id ?? next;
  const hasWaited = asked.some(({ answer }) => answer?.hasWaited);
  return admitAgain(c, ok({ asked, next: rest !== null && rest < end ? rest : null, hasWaited }));
}

/** What an environment answers in time, or why it does not; `undefined` if there is nothing in it yet, or nothing any more. */
async function answerOf<Answer>(
  answer: Promise<Result<Answer, Failure>>,
  seconds: number,
): Promise<Answer | Silence | undefined> {
  try {
    const result = await withTimeout(answer, seconds);
    if (result.ok) return result.value;
    return result.failure.code === "environment_not_found" ? undefined : "silent";
  } catch (error) {
    const code = refusalCodeOf(error);
    if (code === "environment_damaged") return "damaged";
    return code === "environment_restoring" ? "restoring" : "silent";
  }
}
