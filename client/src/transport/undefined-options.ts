/**
 * Throws a `TypeError` if one of these options is present and `undefined`. Each call names the options without which it does more than with
 * any value of them: a variable that somebody forgot to set must not end everybody's sessions.
 */
export function refuseUndefined<Input extends object>(input: Input, names: readonly (keyof Input & string)[]): void {
  const name = names.find((each) => each in input && input[each] === undefined);
  if (name !== undefined)
    throw new TypeError(
      `${name} is undefined, and without it the call would do more. Give a value, or leave ${name} out.`,
    );
}
